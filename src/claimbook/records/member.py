"""The files of one member, which is an arm trained with one seed.

``<training key>-<seed>.parquet``   a row per logged epoch; the whole arm, versions,
                                  device and a ``digest`` of all, as ``frame.attrs``
``….<digits>.trace.parquet``       ``loss`` of every step, penalties included, to
                                  four digits
``….<digits>.safetensors``         weights, by "epoch|parameter"

The digits begin the SHA-256 of the file, which is in the attrs. The rows are written
last and no file is removed, so whoever reads while another process writes, or after a
process was killed, finds whole members.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from claimbook import project
from claimbook.digest import sha256
from claimbook.errors import RecordError
from claimbook.experiment import Result
from claimbook.records import validation

FORMAT = 3
# The kinds of files beside the rows, by their names in the metadata: suffix.
SIDES = {"weights": "safetensors", "trace": "trace.parquet"}
ATTRS = b"PANDAS_ATTRS"  # where pandas keeps frame.attrs in a Parquet file

Meta = dict[str, Any]  # the metadata of a member: its arm, device, versions, ...
Files = dict[Path, bytes]  # the contents of a member's files by path, its rows first


def side_files(path: Path, meta: Meta) -> dict[str, Path]:
    """Return the paths of a member's files beside its rows, by "weights" or "trace".

    They are named after ``path``, the file of the rows, and the digests in ``meta``,
    the metadata. A kind that the member does not have is left out.
    """
    kinds = [kind for kind in SIDES if kind in meta]
    # the suffix ".parquet" alone is replaced, not what stands before it
    return {k: path.with_suffix(f".{meta[k][:8]}.{SIDES[k]}") for k in kinds}


def table(path: Path) -> tuple[pa.Table, Meta]:
    """Return the rows of a member, as a table of Arrow, and its metadata.

    The table has a row per logged epoch, with the columns "epoch" and those of the
    observables. Raises RecordError unless every file of the member is as it was
    written, and its content is what a training leaves (see `validation`).
    """
    with _readable(path):
        # opened once, as another process may put another file in its place meanwhile
        file = pq.ParquetFile(pa.BufferReader(path.read_bytes()))
        # threads cost more than they bring for a file of some kilobytes
        rows = file.read(use_threads=False)
        meta: Meta = json.loads(rows.schema.metadata[ATTRS])
        # (rows, columns)
        values = np.column_stack([column.to_numpy() for column in rows.columns])
        is_whole = meta["digest"] == _digest(values, rows.column_names, meta)
        is_same = is_whole and meta["format"] == FORMAT
        stem = f"{meta['training_key']}-{meta['seed']}"
    # a member that was copied to the name of another is refused too
    if not is_same or path.name.split(".")[0] != stem:
        raise record_error(path, "is not as it was recorded, or of another format")
    fault = validation.metadata_fault(meta) or validation.rows_fault(rows, meta)
    if fault:
        raise record_error(path, fault)
    for kind, side in side_files(path, meta).items():
        if not side.exists() or sha256(side.read_bytes()) != meta[kind]:
            raise record_error(
                side, f"is not the {kind} that {path.name} was kept with"
            )
        if kind == "trace":
            with _readable(side):
                count = pq.read_metadata(side).num_rows
            if count != meta["epochs"]:
                problem = f"has {count} losses for {meta['epochs']} steps"
                raise record_error(side, problem)
    return rows, meta


def metadata(path: Path) -> Meta:
    """Return the metadata of a member without a check of its rows and other files.

    ``path`` is the file of its rows. Raises RecordError if that is missing or cannot be
    read, or if its metadata are not those that a training leaves.
    """
    with _readable(path):
        meta: Meta = json.loads(pq.read_schema(path).metadata[ATTRS])
        fault = validation.metadata_fault(meta)
    if fault:
        raise record_error(path, fault)
    return meta


def columns(path: Path) -> list[str]:
    """Return the names of the columns in a member's rows, "epoch" included.

    ``path`` is the file of its rows. Raises RecordError if it cannot be read.
    """
    with _readable(path):
        return pq.read_schema(path).names


def file_contents(path: Path, result: Result) -> Files:
    """Return the contents of the files of a new member, its rows first.

    ``path`` is where the rows are to lie. The metadata, which are stored with the rows,
    have the digests of all files, and say which code trained the member: that of this
    process, which has to be the one that trained.
    """
    rows = pd.DataFrame(result.rows)
    sides = {}  # contents of the files beside the rows, by a key of SIDES
    if result.kept:
        from safetensors.torch import save

        tensors = {}
        for epoch, weights in result.kept.items():
            for name, weight in weights.items():
                # safetensors refuses tensors that share their memory, such as views
                tensors[f"{epoch}|{name}"] = weight.clone().contiguous()
        sides["weights"] = save(tensors)
    if result.trace is not None:  # of a training without steps it is empty
        losses = pd.DataFrame({"loss": _four_digits(result.trace)})
        sides["trace"] = _parquet(losses, {})
    last_epoch = int(rows["epoch"].iloc[-1])
    meta = result.info | {kind: sha256(content) for kind, content in sides.items()}
    meta |= {
        "arm": result.arm.as_plain(),
        "seed": result.seed,
        "training_key": result.arm.training_key,
        "epochs": last_epoch,
        "seconds": round(result.seconds, 2),
        # a clock may have stood still
        "epochs_per_second": round(last_epoch / max(result.seconds, 1e-9), 2),
        "numpy": np.__version__,
        "commit": project.commit(),
        "source": project.source(),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d"),
        "format": FORMAT,
    }
    meta["digest"] = _digest(rows.to_numpy(), list(rows), meta)
    paths = side_files(path, meta)
    return {path: _parquet(rows, meta)} | {paths[kind]: sides[kind] for kind in sides}


def put(files: Files) -> None:
    """Write the files of one member, all of them or none; without files do nothing."""
    # Each file takes its final name when its context ends. An exit stack ends them in
    # reverse, so the rows, which are the first, take theirs last.
    with contextlib.ExitStack() as stack:
        for path, content in files.items():
            stack.enter_context(project.written_whole(path)).write_bytes(content)


def _four_digits(losses: Sequence[float]) -> np.ndarray:
    """Return losses (steps,) rounded to 14 significant bits, which are four digits.

    This makes the file a third as large. 0, infinity and NaN stay.
    """
    mantissa, exponent = np.frexp(np.array(losses, dtype=np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, 14)), exponent - 14)


def _parquet(rows: pd.DataFrame, meta: Meta) -> bytes:
    """Return a table with its metadata as the bytes of a Parquet file.

    Its columns are whole numbers or floats, and the encodings are those that make short
    columns of these small.
    """
    # without the metadata that pandas adds; ``meta`` are written as the only ones
    arrow = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
    encodings = {}
    for column in rows:
        is_float = rows[column].dtype.kind == "f"
        encodings[column] = "BYTE_STREAM_SPLIT" if is_float else "DELTA_BINARY_PACKED"
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(
        buffer,
        arrow.schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
        column_encoding=encodings,
    ) as writer:
        writer.write_table(arrow)
        writer.add_key_value_metadata({ATTRS: json.dumps(meta)})
    return bytes(buffer.getvalue())


def _digest(values: np.ndarray, column_names: list[str], meta: Meta) -> str:
    """Return the SHA-256 of a member's metadata, column names and rows.

    ``values`` are (rows, columns). They count as little-endian float64, with one
    bit pattern for every NaN, so that every machine computes the same digest. Of the
    metadata the entry "digest" is left out, as it holds the result. Raises ValueError
    or TypeError for values that are no numbers.
    """
    values = values.astype("<f8")
    values[np.isnan(values)] = np.nan
    settings = {name: value for name, value in meta.items() if name != "digest"}
    header = json.dumps([settings, column_names], sort_keys=True)
    return sha256(header.encode() + values.tobytes())


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn any exception in the block into a RecordError that names the file."""
    try:
        yield
    except Exception as error:  # a damaged file raises half a dozen types
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        problem = f"cannot be read as a member ({reason})"
        raise record_error(path, problem) from error


def record_error(path: Path, problem: str) -> RecordError:
    """Return the error that says what is wrong with a file, and what to do about it."""
    return RecordError(
        f"{path} {problem}: take it from git again, or delete it and train it anew"
    )
