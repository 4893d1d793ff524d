"""What lies beside a table, where an arm asks for it: weights, traces and states.

``<name>.<scale>.safetensors``      kept weights, by "arm|seed|epoch|parameter"
``<name>.<scale>.trace.parquet``    loss of every step: columns arm, seed, step, loss
``<name>.<scale>.states.pt``        states to replay from: {"arm|seed": {epoch: state}}

Each is read by member: {"arm|seed": payload}. Only weights and states import torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grokbook.errors import RecordError
from grokbook.files import Batch
from grokbook.records.table import member, parts


@dataclass(frozen=True)
class Side:
    """One kind of file beside the table: its ending, and how it is read and written."""

    name: str
    suffix: str
    read_file: Callable[[Path], dict[str, Any]]
    write_file: Callable[[dict[str, Any], Path], None]

    def path(self, table: Path) -> Path:
        """Where it lies, given where the table lies."""
        return table.with_suffix(self.suffix)

    def read(self, table: Path) -> dict[str, Any]:
        """What it holds by member, nothing where there is no file; or RecordError."""
        path = self.path(table)
        if not path.exists():
            return {}
        try:
            return self.read_file(path)
        except Exception as error:  # a damaged file raises half a dozen types
            raise RecordError(
                f"{path} cannot be read as kept {self.name}, it may be truncated: take "
                "it from git again, or delete it and its record and run the experiment "
                "anew"
            ) from error

    def renew(
        self,
        table: Path,
        moved: Mapping[str, str | None],
        new: Mapping[str, Any],
        batch: Batch,
    ) -> None:
        """Add payloads, and rename or drop (None) those of recorded members.

        A file that this does not change is neither read nor written.
        """
        if not new and all(key == now for key, now in moved.items()):
            return
        before = self.read(table)
        after = {
            now: before[key] for key, now in moved.items() if now and key in before
        }
        after |= new
        if after:
            self.write_file(after, batch.write(self.path(table)))
        elif before:
            batch.remove(self.path(table))


def _read_weights(path: Path) -> dict[str, Any]:
    """{"epoch|parameter": tensor} of every member."""
    from safetensors.torch import load_file

    found: dict[str, Any] = {}
    for key, weight in load_file(path).items():
        arm, seed, epoch, name = key.rsplit("|", 3)
        found.setdefault(f"{arm}|{seed}", {})[f"{epoch}|{name}"] = weight
    return found


def _write_weights(weights: dict[str, Any], path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    flat = {  # copies: safetensors refuses tensors that share their memory
        f"{key}|{name}": weight.clone(memory_format=torch.contiguous_format)
        for key, mine in weights.items()
        for name, weight in mine.items()
    }
    save_file(flat, path)


def _read_traces(path: Path) -> dict[str, Any]:
    """The losses of every member, (steps,); ValueError where one is missing."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()
    step, loss, seeds = (
        table.column(name).to_numpy() for name in ("step", "loss", "seed")
    )
    starts = np.flatnonzero(step[1:] == 0) + 1  # a member's steps stand together
    found = {}
    for start, stop in pairwise([0, *starts, len(step)]):
        if not np.array_equal(step[start:stop], np.arange(stop - start)):
            raise ValueError(f"steps are missing after row {start}")
        arm = table.column("arm")[int(start)].as_py()
        found[member(arm, seeds[start])] = loss[start:stop]
    return found


def _write_traces(traces: dict[str, Any], path: Path) -> None:
    of = [parts(key) for key in traces]
    lengths = [len(trace) for trace in traces.values()]
    arms = pa.array([arm for arm, _ in of], pa.large_string())
    table = pa.table(
        {
            "arm": arms.take(pa.array(np.repeat(np.arange(len(of)), lengths))),
            "seed": np.repeat([seed for _, seed in of], lengths),
            "step": np.concatenate([np.arange(length) for length in lengths]),
            "loss": np.concatenate(list(traces.values())),
        }
    )
    pq.write_table(
        table,
        path,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=["arm", "seed"],
        # counting costs nothing this way, and neighbouring losses share their exponent
        column_encoding={"step": "DELTA_BINARY_PACKED", "loss": "BYTE_STREAM_SPLIT"},
    )


def _read_states(path: Path) -> dict[str, Any]:
    import torch

    return dict(torch.load(path, map_location="cpu", weights_only=True))


def _write_states(states: dict[str, Any], path: Path) -> None:
    import torch

    try:
        torch.save(states, path)
    except RuntimeError as error:  # what torch makes of a full disk
        raise OSError(str(error)) from error


WEIGHTS = Side("weights", ".safetensors", _read_weights, _write_weights)
TRACES = Side("traces", ".trace.parquet", _read_traces, _write_traces)
STATES = Side("states", ".states.pt", _read_states, _write_states)
SIDES = (WEIGHTS, TRACES, STATES)
