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
# What a warning says of a checkpoint whose identity differs under a key, in this order.
DIFFERENCES = {
    "members": "is of another arm or seed",
    "source": "was begun by other code (source {saved:.12}…, now {current:.12}…)",
    "torch": "was begun with another torch ({saved}, now {current})",
    "matmul": "was begun with another library for products ({saved}, now {current})",
}
State = dict[str, Any]


class Unfit(ValueError):
    """A checkpoint does not belong to this training; the message says why."""


def write(path: Path, identity: Mapping[str, Any], content: State) -> None:
    """Write a checkpoint, whole or not at all; raises TrainingError if it fails."""
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
    device: str = "cpu",
    restore: Callable[[State], None] | None = None,
) -> State | None:
    """Return the state of a checkpoint, or None where there is none that fits.

    ``identity`` is what the checkpoint must say of itself. ``restore`` goes on from the
    state, and raises an error where it cannot. A checkpoint that does not fit is moved
    aside, so that it is neither resumed nor lost, and a warning says why.
    """
    if not path.exists():
        return None
    try:
        state = _unpacked(path.read_bytes(), identity, device)
        if restore:
            restore(state)
        return state
    except torch.OutOfMemoryError:
        raise
    except Unfit as error:
        reason = str(error)
    except Exception:  # the content may be anything, and so may the error
        reason = "is damaged"
    # the first free name of name.aside, name.aside1, name.aside2, …
    asides = (path.with_name(f"{path.name}.aside{n or ''}") for n in itertools.count())
    aside = path.rename(next(other for other in asides if not other.exists()))
    warnings.warn(
        f"the checkpoint {path.name} {reason}: it is kept aside as {aside.name} and "
        "training starts anew",
        stacklevel=2,
    )
    return None


def _unpacked(content: bytes, identity: Mapping[str, Any], device: str) -> State:
    """Return the state in the content of a checkpoint, with its tensors on a device.

    Raises Unfit, or an error of any kind, if it is damaged or of another identity.
    """
    line, _, body = content.partition(b"\n")
    head = json.loads(line)
    if head["format"] != FORMAT:
        raise Unfit(f"is of another format ({head['format']}, now {FORMAT})")
    if head["sha256"] != _sha256(body):
        raise Unfit("is damaged")
    if difference := _difference(head["identity"], identity):
        raise Unfit(difference)
    return torch.load(io.BytesIO(body), map_location=device, weights_only=True)


def _difference(saved: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """Return how a checkpoint's identity differs from the current one, "" if equal."""
    sentences = [
        sentence.format(saved=saved.get(key, "unknown"), current=current.get(key))
        for key, sentence in DIFFERENCES.items()
        if saved.get(key) != current.get(key)
    ]
    return " and ".join(sentences)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
