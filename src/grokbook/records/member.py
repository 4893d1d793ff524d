"""The files of one member, each written whole or not at all.

``<training key>-<seed>.parquet`` has a row per logged epoch. Its metadata are the JSON
that pandas reads as ``frame.attrs``: the whole arm, versions, device, seconds, commit,
and a ``digest`` of all this and the rows. What an arm keeps lies beside it, named after
the first digits of its SHA-256, which the metadata hold:

``….<digits>.trace.parquet``   ``loss`` of every step, to four digits
``….<digits>.safetensors``     weights, by "epoch|parameter"

It is in its place before the rows that name it, and nothing is removed: whoever reads
while another writes, or after a writer was killed, finds whole members.
"""

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from grokbook import project
from grokbook.errors import GrokbookError, RecordError
from grokbook.experiment import Result
from grokbook.files import whole

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 3
SIDES = {"weights": "safetensors", "trace": "trace.parquet"}
TRAINS = ("datasets", "engine", "losses", "models", "optimizers")
ATTRS = b"PANDAS_ATTRS"  # where pandas keeps frame.attrs in a Parquet file

Meta = dict[str, Any]
Files = dict[Path, bytes]  # of one member, its rows first


def beside(path: Path, about: Meta) -> dict[str, Path]:
    """Where a member's weights and trace lie, given where its rows do."""
    kept = [kind for kind in SIDES if kind in about]
    return {k: path.with_suffix(f".{about[k][:8]}.{SIDES[k]}") for k in kept}


def read(path: Path) -> tuple[pd.DataFrame, Meta]:
    """Rows and metadata; RecordError unless every file is as it was written."""
    with _readable(path):
        # opened once: another may take its place meanwhile
        table = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read()
        rows, about = table.to_pandas(ignore_metadata=True), _told(table.schema)
        sound = about["digest"] == _digest(rows, about) and about["format"] == FORMAT
        sound &= path.name.split(".")[0] == f"{about['training_key']}-{about['seed']}"
    if not sound:
        raise _refused(path, "is not as it was recorded, or of another format")
    for kind, file in beside(path, about).items():
        if not file.exists() or _sha256(file.read_bytes()) != about[kind]:
            raise _refused(file, f"is not the {kind} that {path.name} was kept with")
    return rows, about


def metadata(path: Path) -> Meta:
    """The metadata alone, as they stand there; RecordError where there are none."""
    with _readable(path):
        return _told(pq.read_schema(path))


def weights(path: Path, about: Meta) -> "dict[str, Tensor]":
    """Kept weights by "epoch|parameter"; none where nothing was kept."""
    from safetensors.torch import load_file

    return load_file(beside(path, about)["weights"]) if "weights" in about else {}


def trace(path: Path, about: Meta) -> pd.Series | None:
    """The loss of every step, (steps,), where it was kept."""
    kept = beside(path, about).get("trace")
    return pd.read_parquet(kept)["loss"] if kept else None


def made(path: Path, result: Result) -> Files:
    """A result as files; RecordError if the epochs of its rows do not ascend."""
    rows = pd.DataFrame(result.rows, columns=None if result.rows else ["epoch"])
    epochs = rows.get("epoch", rows.index[:0])
    if epochs.dtype.kind != "i" or not len(epochs) or (np.diff(epochs) <= 0).any():
        raise RecordError(
            f"the result of arm {result.arm.name!r}, seed {result.seed} has no rows at "
            "ascending epochs: delete its files in .checkpoints and train it again"
        )
    last = int(epochs.iloc[-1])
    about = result.info | {
        "arm": result.arm.to_json(),
        "seed": result.seed,
        "training_key": result.arm.training_key(),
        "epochs": last,
        "seconds": round(result.seconds, 2),
        "epochs_per_second": round(last / max(result.seconds, 1e-9), 2),
        "numpy": version("numpy"),
        "commit": commit(),
        "source": source(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    kept = {f"{e}|{k}": w for e, every in result.kept.items() for k, w in every.items()}
    return packed(path, rows, about, kept, _four_digits(result.trace or []))


def packed(
    path: Path,
    rows: pd.DataFrame,
    about: Meta,
    kept: "Mapping[str, Tensor]",
    losses: np.ndarray,
) -> Files:
    """The files of a member; its metadata get the digests."""
    sides = {}
    if kept:
        from safetensors.torch import save

        # safetensors refuses tensors that share their memory, as a view of another
        sides["weights"] = save({k: w.clone().contiguous() for k, w in kept.items()})
    if len(losses):
        sides["trace"] = _parquet(pd.DataFrame({"loss": losses}), {})
    digests = {kind: _sha256(content) for kind, content in sides.items()}
    about = json.loads(json.dumps(about | digests | {"format": FORMAT}))
    about["digest"] = _digest(rows, about)
    places = beside(path, about)
    return {path: _parquet(rows, about)} | {places[k]: sides[k] for k in sides}


def put(members: Iterable[Files]) -> None:
    """Write members; RecordError, and nothing written, where there is no room."""
    path = Path("the record")
    try:
        with contextlib.ExitStack() as last_comes_first:
            for path, content in (pair for files in members for pair in files.items()):
                part = last_comes_first.enter_context(whole(path))
                part.write_bytes(content)
    except OSError as error:
        raise RecordError(
            f"{path} cannot be written ({error.strerror}): free some space or allow "
            "writing there, and run the same command again"
        ) from error


@cache
def commit() -> str:
    """Commit of the code, with a plus sign if the package was changed since.

    That of the first call: a checkout may move on while its code is training. Where
    the code lies outside one, what GROKBOOK_COMMIT says, or "unknown".
    """

    def git(*words: str) -> str:
        call = ["git", "-C", str(project.home()), *words]
        return subprocess.check_output(call, text=True, stderr=subprocess.DEVNULL)

    try:
        changed = git("status", "--porcelain", "--", "src").strip()
        return git("rev-parse", "--short=10", "HEAD").strip() + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError, GrokbookError):
        return os.environ.get("GROKBOOK_COMMIT", "unknown")


@cache
def source() -> str:
    """Digest of the modules that train: it outlives a commit that is rewritten."""
    package = Path(__file__).parents[1]
    files = sorted(
        {
            *package.glob("*.py"),
            *(f for n in TRAINS for f in package.glob(f"{n}/**/*.py")),
        }
    )
    return _sha256(b"".join(file.read_bytes() for file in files))


def _four_digits(losses: Sequence[float]) -> np.ndarray:
    """Losses rounded to 14 significant bits, of which a file takes a third."""
    values = np.array(losses, dtype=np.float64)
    normal = np.isfinite(values) & (abs(values) >= np.finfo(float).tiny)
    mantissa, exponent = np.frexp(values[normal])
    values[normal] = np.ldexp(np.rint(np.ldexp(mantissa, 14)), exponent - 14)
    return values


def _parquet(rows: pd.DataFrame, about: Meta) -> bytes:
    """A table as bytes, in the encodings that make short columns of numbers small."""
    table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
    kinds = {True: "BYTE_STREAM_SPLIT", False: "DELTA_BINARY_PACKED"}
    with pa.BufferOutputStream() as buffer:
        with pq.ParquetWriter(
            buffer,
            table.schema,
            compression="zstd",
            compression_level=9,
            use_dictionary=False,
            column_encoding={c: kinds[rows[c].dtype.kind == "f"] for c in rows},
            write_statistics=False,
            store_schema=False,
        ) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({ATTRS: json.dumps(about)})
        content: bytes = buffer.getvalue().to_pybytes()
        return content


def _told(schema: pa.Schema) -> Meta:
    told: Meta = json.loads(schema.metadata[ATTRS])
    return told


def _digest(rows: pd.DataFrame, about: Meta) -> str:
    """SHA-256 of metadata and rows as little-endian float64, every NaN alike."""
    values = rows.to_numpy("<f8", copy=True)
    values[np.isnan(values)] = np.nan
    told = [{k: v for k, v in about.items() if k != "digest"}, list(rows.columns)]
    return _sha256(json.dumps(told, sort_keys=True).encode() + values.tobytes())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a damaged file raises half a dozen types
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise _refused(path, f"cannot be read as a member ({reason})") from error


def _refused(path: Path, what: str) -> RecordError:
    return RecordError(
        f"{path} {what}: take it from git again, or delete it and train it anew"
    )
