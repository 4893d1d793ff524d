"""Checkpoints: files with the state of a training, from which it can be resumed.

A file is a line of JSON, with the keys "format", "identity" and "sha256" (of the rest),
followed by what `torch.save` wrote.
"""

import io
import itertools
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from claimbook.digest import sha256
from claimbook.errors import TrainingError
from claimbook.project import written_whole

FORMAT = 4  # goes up by 1 when a checkpoint is written in another way
# What a warning says of a checkpoint whose identity differs under a key, in this order.
# The keys are those of `loop.identity`.
DIFFERENCES = {
    "members": "is of another arm or seed",
    "source": "was begun by other code (source {saved:.12}…, now {current:.12}…)",
    "torch": "was begun with another torch ({saved}, now {current})",
    "matmul": "was begun with another library for products ({saved}, now {current})",
}
State = dict[str, Any]


def write(path: Path, identity: Mapping[str, Any], content: State) -> None:
    """Write a checkpoint, whole or not at all.

    ``identity`` is JSON, by which `read` knows it, and ``content`` the state, tensors
    and numbers in dicts and lists. A file that is there is replaced. Raises
    TrainingError if the file cannot be written, as on a full disk.
    """
    packed = io.BytesIO()
    torch.save(content, packed)
    body = packed.getvalue()
    head = {"format": FORMAT, "identity": identity, "sha256": sha256(body)}
    try:
        with written_whole(path) as part:
            part.write_bytes(json.dumps(head).encode() + b"\n" + body)
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror or error})"
        again = "free some space and run the same command again to go on"
        raise TrainingError(f"{message}: {again}") from error


def read(path: Path, identity: Mapping[str, Any], device: str = "cpu") -> State | None:
    """Return the state of a checkpoint, or None if there is none that fits.

    It fits if it is of this ``identity``, as far as ``DIFFERENCES`` names its keys; its
    tensors come to ``device``. A checkpoint that is damaged or of another identity is
    renamed to "<name>.aside", so that it is neither resumed nor lost, and a warning
    says why. Raises OutOfMemoryError if a GPU has no room for it, which is no damage.
    """
    if not path.exists():
        return None
    try:
        line, _, body = path.read_bytes().partition(b"\n")
        reason = _fault(json.loads(line), body, identity)
        if not reason:
            # weights_only: nothing in a file can run
            return torch.load(io.BytesIO(body), map_location=device, weights_only=True)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # of JSON, torch or pickle, as the content may be anything
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


def _fault(head: State, body: bytes, identity: Mapping[str, Any]) -> str:
    """Return why a checkpoint cannot be resumed under an identity, or "" if it can be.

    ``head`` is its first line as JSON and ``body`` the rest of it. The result is the
    end of a sentence about the checkpoint.
    """
    if head["format"] != FORMAT:
        return f"is of another format ({head['format']}, now {FORMAT})"
    if head["sha256"] != sha256(body):
        return "is damaged"
    saved = head["identity"]
    sentences = [
        sentence.format(saved=saved.get(key, "unknown"), current=identity.get(key))
        for key, sentence in DIFFERENCES.items()
        if saved.get(key) != identity.get(key)
    ]
    return " and ".join(sentences)
