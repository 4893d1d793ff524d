"""State files: checkpoints that say whose they are and that nothing has changed them.

A file is one line of JSON (format, identity, SHA-256 of the rest) and a torch archive.
One that does not fit is kept aside under another name and training starts anew: a
damaged state must neither be trained on nor be lost.
"""

import hashlib
import io
import itertools
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from grokbook import files
from grokbook.errors import TrainingError

FORMAT = 2


def write(path: Path, identity: dict[str, Any], content: dict[str, Any]) -> None:
    """Write a state whole or not at all; TrainingError if it fails."""
    packed = io.BytesIO()
    torch.save(content, packed)
    body = packed.getvalue()
    head = {"format": FORMAT, "identity": identity}
    head["sha256"] = hashlib.sha256(body).hexdigest()
    try:
        with files.contested(path) as temporary:  # two experiments may share a member
            temporary.write_bytes(json.dumps(head).encode() + b"\n" + body)
    except OSError as error:
        raise TrainingError(
            f"{path} cannot be written ({error.strerror or error}): free some space "
            "and run the same command again to go on"
        ) from error


def read(
    path: Path,
    identity: dict[str, Any],
    device: str = "cpu",
    fault: Callable[[dict[str, Any]], str] = lambda _: "",
) -> dict[str, Any] | None:
    """The state at a path, or None where there is none that fits.

    ``fault`` says in words what is wrong with a content, or "". A file that does not
    fit is moved to <name>.aside with a warning that says why.
    """
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        return None
    content, reason = _opened(packed, identity, device)
    reason = reason or fault(content)
    if not reason:
        return content
    asides = (path.with_name(f"{path.name}.aside{k or ''}") for k in itertools.count())
    aside = next(other for other in asides if not other.exists())
    os.replace(path, aside)
    warnings.warn(
        f"the checkpoint {path.name} {reason}: it is kept aside as {aside.name} and "
        "training starts anew",
        stacklevel=2,
    )
    return None


def _opened(
    packed: bytes, identity: dict[str, Any], device: str
) -> tuple[dict[str, Any], str]:
    """(content, what is wrong or "")."""
    head, _, body = packed.partition(b"\n")
    try:
        told = json.loads(head)
        if told["format"] != FORMAT:
            return {}, f"has format {told['format']}, not {FORMAT}"
        if told["identity"] != identity:
            return {}, f"belongs to {told['identity']}, not to {identity}"
        if told["sha256"] != hashlib.sha256(body).hexdigest():
            return {}, "is damaged"
        opened = torch.load(io.BytesIO(body), map_location=device, weights_only=True)
    except Exception as error:  # a damaged file raises half a dozen types
        return {}, f"is damaged ({type(error).__name__})"
    return opened, ""
