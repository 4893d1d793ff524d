"""The command `grokbook` on a bad day: what test_workflow gives to Snakemake.

Folder UNLUCKY holds what shall happen, once each: `kill` ends the first training that
has saved its state in mid-course, worker and parent, with signal 9, `kill worker` the
worker alone; `hurry` gives the next training no time. What was called and what came of
it is told in its file `story`.
"""

import os
import signal
import sys
from pathlib import Path

from claimbook import cli
from claimbook.engine import loop, state

FOLDER = Path(os.environ["UNLUCKY"])
SIGKILL = signal.SIGKILL
write, read = state.write, state.read


def comes(what):
    """Whether a misfortune was waiting; only one process meets it."""
    try:
        (FOLDER / what).unlink()
    except FileNotFoundError:
        return False
    return True


def tell(*words):
    with (FOLDER / "story").open("a") as file:
        print(*words, file=file)


def writing(path, identity, content):
    write(path, identity, content)
    step = content["learner"]["step"]
    for what in ("kill", "kill worker") if 0 < step < 12 else ():
        if comes(what):
            tell("killed", step)
            if what == "kill":
                os.kill(os.getppid(), SIGKILL)
            os.kill(os.getpid(), SIGKILL)


def reading(*what):
    found = read(*what)
    if found:
        tell("resumed", found["learner"]["step"])
    return found


loop.CHECKPOINT_SECONDS = 0.0
state.write, state.read = writing, reading  # also in workers, which import this again

if __name__ == "__main__":
    words = sys.argv[1:]
    if words[0] == "run" and "--dry-run" not in words and comes("hurry"):
        words += ["--time-budget", "1e-9"]
    code = cli.main(words)
    tell(words[0], code)
    sys.exit(code)
