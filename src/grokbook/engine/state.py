"""Checkpoints: a line of JSON (format, identity, SHA-256 of the rest), a torch archive.

A damaged state must neither be trained on nor be lost.
"""

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


def read(path: Path, identity: dict[str, Any], device: str = "cpu") -> Any:
    """The state at a path, or None; one that does not fit is moved aside."""
    if not path.exists():
        return None
    head, end, body = path.read_bytes().partition(b"\n")
    if head + end == _head(identity, body):
        return torch.load(io.BytesIO(body), map_location=device, weights_only=True)
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
