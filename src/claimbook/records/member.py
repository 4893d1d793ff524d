"""The files of one member.

``<training key>-<seed>.parquet``   a row per logged epoch; the whole arm, versions,
                                  device and a ``digest`` of all, as ``frame.attrs``
``….<digits>.trace.parquet``       ``loss`` of every step, to four digits
``….<digits>.safetensors``         weights, by "epoch|parameter"

The digits are of the SHA-256 in the attrs. Rows come last and nothing is removed: who
reads while another writes, or after a kill, finds whole members.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from claimbook import project
from claimbook.errors import RecordError
from claimbook.experiment import Result

FORMAT = 3
SIDES = {"weights": "safetensors", "trace": "trace.parquet"}
ATTRS = b"PANDAS_ATTRS"  # where pandas keeps frame.attrs in a Parquet file

Meta = dict[str, Any]
Files = dict[Path, bytes]  # of one member, its rows first


def beside(path: Path, about: Meta) -> dict[str, Path]:
    """Where a member's weights and trace lie."""
    kept = [kind for kind in SIDES if kind in about]
    return {k: path.with_suffix(f".{about[k][:8]}.{SIDES[k]}") for k in kept}


def read(path: Path) -> tuple[pd.DataFrame, Meta]:
    """Rows and metadata; RecordError unless every file is as it was written."""
    with _readable(path):
        # opened once: another may take its place meanwhile
        table = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read()
        about: Meta = json.loads(table.schema.metadata[ATTRS])
        rows = table.to_pandas(ignore_metadata=True)
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
        about: Meta = json.loads(pq.read_schema(path).metadata[ATTRS])
    return about


def columns(path: Path) -> list[str]:
    """What is measured in a member; RecordError where it cannot be read."""
    with _readable(path):
        names: list[str] = pq.read_schema(path).names
    return names


def made(path: Path, result: Result) -> Files:
    """A result as the files of a member, whose metadata have the digests."""
    rows, sides = pd.DataFrame(result.rows), {}
    if result.kept:
        from safetensors.torch import save

        kept = {f"{e}|{k}": w for e, ws in result.kept.items() for k, w in ws.items()}
        # safetensors refuses tensors that share their memory, as a view of another
        sides["weights"] = save({k: w.clone().contiguous() for k, w in kept.items()})
    if result.trace:
        losses = pd.DataFrame({"loss": _four_digits(result.trace)})
        sides["trace"] = _parquet(losses, {})
    last = int(rows["epoch"].iloc[-1])
    about = result.info | {kind: _sha256(content) for kind, content in sides.items()}
    about |= {
        "arm": result.arm.to_json(),
        "seed": result.seed,
        "training_key": result.arm.training_key(),
        "epochs": last,
        "seconds": round(result.seconds, 2),
        "epochs_per_second": round(last / max(result.seconds, 1e-9), 2),
        "numpy": version("numpy"),
        "commit": project.commit(),
        "source": project.source(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d"),
        "format": FORMAT,
    }
    about["digest"] = _digest(rows, about)
    places = beside(path, about)
    return {path: _parquet(rows, about)} | {places[k]: sides[k] for k in sides}


def put(files: Files) -> None:
    """Write the files of one member: all of them, its rows last, or none."""
    with contextlib.ExitStack() as last_comes_first:
        for path, content in files.items():
            last_comes_first.enter_context(project.whole(path)).write_bytes(content)


def _four_digits(losses: Sequence[float]) -> np.ndarray:
    """Losses rounded to 14 significant bits, of which a file takes a third."""
    mantissa, exponent = np.frexp(np.array(losses, dtype=np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, 14)), exponent - 14)


def _parquet(rows: pd.DataFrame, about: Meta) -> bytes:
    """A table as bytes, in the encodings that make short columns of numbers small."""
    table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
    kinds = {True: "BYTE_STREAM_SPLIT", False: "DELTA_BINARY_PACKED"}
    buffer = pa.BufferOutputStream()
    how: dict[str, Any] = {"compression": "zstd", "compression_level": 9}
    how |= dict.fromkeys(("use_dictionary", "write_statistics", "store_schema"), False)
    how["column_encoding"] = {c: kinds[rows[c].dtype.kind == "f"] for c in rows}
    with pq.ParquetWriter(buffer, table.schema, **how) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({ATTRS: json.dumps(about)})
    return bytes(buffer.getvalue())


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
