"""Checkpoints: a line of JSON (format, identity, SHA-256 of the rest), then torch's."""

import hashlib
import io
import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import torch

from grokbook.errors import TrainingError
from grokbook.project import whole

FORMAT = 4


def write(path: Path, identity: dict[str, Any], content: dict[str, Any]) -> None:
    """Write a state whole or not at all; TrainingError if it fails."""
    packed = io.BytesIO()
    torch.save(content, packed)
    try:
        with whole(path) as part:
            part.write_bytes(_head(identity, packed.getvalue()) + packed.getvalue())
    except OSError as error:
        told = f"{path} cannot be written ({error.strerror or error}): free some space"
        again = "and run the same command again to go on"
        raise TrainingError(f"{told} {again}") from error


def read(path: Path, identity: dict[str, Any], on: str = "cpu", use: Any = id) -> Any:
    """The state at a path, or None; one that does not fit or is of no ``use`` is moved
    aside, so that it is neither trained on nor lost."""
    if not path.exists():
        return None
    head, end, body = path.read_bytes().partition(b"\n")
    if head + end == _head(identity, body):
        try:
            found = torch.load(io.BytesIO(body), map_location=on, weights_only=True)
            use(found)
            return found
        except torch.OutOfMemoryError:
            raise
        except Exception:  # whatever another version or a stranger wrote
            body = b""
    asides = (path.with_name(f"{path.name}.aside{k or ''}") for k in itertools.count())
    aside = path.rename(next(other for other in asides if not other.exists()))
    warnings.warn(
        f"the checkpoint {path.name} is damaged or belongs to another training: it is "
        f"kept aside as {aside.name} and training starts anew",
        stacklevel=2,
    )
    return None


def _head(identity: dict[str, Any], body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    told = {"format": FORMAT, "identity": identity, "sha256": digest}
    return json.dumps(told).encode() + b"\n"
