"""Checkpoints: a line of JSON (format, identity, SHA-256 of the rest), then torch's."""

import hashlib
import io
import itertools
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from claimbook.errors import TrainingError
from claimbook.project import whole

FORMAT = 4
# What is said of a checkpoint whose identity differs in this, in this order.
DIFFERENCES = {
    "members": "is of another arm or seed",
    "source": "was begun by other code (source {theirs:.12}…, now {mine:.12}…)",
    "torch": "was begun with another torch ({theirs}, now {mine})",
    "matmul": "was begun with another library for products ({theirs}, now {mine})",
}
State = dict[str, Any]


class Unfit(ValueError):
    """A state that cannot be one of this training; the message says in what."""


def write(path: Path, identity: Mapping[str, Any], content: State) -> None:
    """Write a state whole or not at all; TrainingError if it fails."""
    packed = io.BytesIO()
    torch.save(content, packed)
    body = packed.getvalue()
    head = {"format": FORMAT, "identity": identity, "sha256": _sha256(body)}
    try:
        with whole(path) as part:
            part.write_bytes(json.dumps(head).encode() + b"\n" + body)
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror or error})"
        again = "free some space and run the same command again to go on"
        raise TrainingError(f"{message}: {again}") from error


def read(
    path: Path,
    identity: Mapping[str, Any],
    on: str = "cpu",
    restore: Callable[[State], None] | None = None,
) -> State | None:
    """The state at a path, or None where there is none that fits.

    ``identity`` is what it must say of itself. ``restore`` goes on from the state and
    raises where it cannot. One that does not fit is moved aside, so that it is neither
    trained on nor lost, and a warning says why.
    """
    if not path.exists():
        return None
    try:
        state = _unpacked(path.read_bytes(), identity, on)
        if restore:
            restore(state)
        return state
    except torch.OutOfMemoryError:
        raise
    except Unfit as error:
        reason = str(error)
    except Exception:  # whatever another version or a stranger wrote
        reason = "is damaged"
    asides = (path.with_name(f"{path.name}.aside{k or ''}") for k in itertools.count())
    aside = path.rename(next(other for other in asides if not other.exists()))
    warnings.warn(
        f"the checkpoint {path.name} {reason}: it is kept aside as {aside.name} and "
        "training starts anew",
        stacklevel=2,
    )
    return None


def _unpacked(content: bytes, identity: Mapping[str, Any], on: str) -> State:
    """The state in a file; Unfit, or another error, where it is not of an identity."""
    line, _, body = content.partition(b"\n")
    head = json.loads(line)
    if head["format"] != FORMAT:
        raise Unfit(f"is of another format ({head['format']}, now {FORMAT})")
    if head["sha256"] != _sha256(body):
        raise Unfit("is damaged")
    if difference := _difference(head["identity"], identity):
        raise Unfit(difference)
    return torch.load(io.BytesIO(body), map_location=on, weights_only=True)


def _difference(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    """In what two identities differ, as what is said of the first; "" if in nothing."""
    words = [
        sentence.format(theirs=theirs.get(key, "unknown"), mine=mine.get(key))
        for key, sentence in DIFFERENCES.items()
        if theirs.get(key) != mine.get(key)
    ]
    return " and ".join(words)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
