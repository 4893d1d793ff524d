"""One writer of a record at a time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from grokbook.errors import RecordError
from grokbook.experiment import Experiment
from grokbook.records.record import root


@contextlib.contextmanager
def locked(experiment: Experiment, out: Path | None) -> Iterator[None]:
    """Keep others out of the record of an experiment; the lock dies with its holder."""
    name = f"{experiment.name.replace('/', '-')}.{experiment.scale}.lock"
    path = (out or root()) / ".locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not a POSIX system: nothing to lock with
            pass
        except BlockingIOError as error:
            raise RecordError(
                f"another run is writing {experiment.name} at {experiment.scale} "
                "scale: wait until it ends, or give another folder with --out"
            ) from error
        yield
