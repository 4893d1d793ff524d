"""The command ``grokbook``: list, run, merge and status.

Exit codes: 0 done, 1 something is wrong (one sentence on stderr says what), 2 the call
itself is wrong, 75 the time budget ended first (the same command goes on), 130 Ctrl-C.
"""

import argparse
import contextlib
import fnmatch
import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grokbook import files, papers, project, records
from grokbook.durations import expected, span
from grokbook.errors import (
    BadCall,
    GrokbookError,
    NoRecord,
    RecordError,
    Unfinished,
    UnknownName,
)
from grokbook.experiment import SCALES, Experiment


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):  # a terminal may not know every letter
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = lambda message, *_, **__: _complain(f"warning: {message}")
    try:
        options = _parser().parse_args(arguments)
        code = options.function(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `| head` has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except GrokbookError as error:
        _complain(str(error))
        return error.code
    except OSError as error:
        _complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        _complain("stopped; the same command goes on from where it saved its state")
        return 130


def _complain(sentence: str) -> None:
    print(f"grokbook: {sentence}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("grokbook", description="Train the book's runs.")
    parser.add_argument("--version", action="version", version=version("grokbook"))
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, function: Any, help: str) -> Any:
        command = commands.add_parser(name, help=help, description=help)
        command.set_defaults(function=function)
        return command.add_argument

    def add_names(name: str, function: Any, help: str) -> Any:
        argument = add(name, function, help)
        argument("names", nargs="*", help="experiments, or how their names begin")
        return argument

    scales = ", ".join(SCALES)
    option = add_names("list", _list, "what is recorded, and what all of it takes")
    option("--scale", help=f"{scales} (default: laptop and paper)")
    option("--device", default="auto", help="auto, cpu or cuda")

    option = add_names("run", _run, "train what is missing, fewest seeds first")
    option("--scale", default="laptop", help=f"{scales} (default: laptop)")
    option("--device", default="auto", help="auto, cpu or cuda")
    option("--time-budget", type=float, metavar="SECONDS", help="for everything")
    option("--arms", action="append", help='as in "70%%*"; may be repeated')
    option("--seeds", type=_numbers, help="only these, as in 42,0,1")
    option("--processes", type=int, help="CPU workers, 0: none")
    option("--replace", action="store_true", help="train again what is there")
    option("--dry-run", action="store_true", help="print the order only")
    option("--record", action="store_true", help="into the book's records")
    option("--out", type=Path, help="a folder for the records")

    option = add("merge", _merge, "take records trained elsewhere into the book")
    option("folders", nargs="+", type=Path, metavar="FOLDER")
    option("--replace", action="store_true", help="also members that are there")
    option("--dry-run", action="store_true", help="only say what")
    option("--out", type=Path, help="another folder to merge into")

    add_names("status", _status, "what is recorded, when, on what, how fast")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _experiments(prefixes: list[str], scale: str) -> list[Experiment]:
    """All experiments that begin with a prefix; UnknownName where none does."""
    found: list[str] = []
    for prefix in prefixes or [""]:
        found += papers.names(prefix) or [papers.get(prefix, scale).name]
    return [papers.get(name, scale) for name in dict.fromkeys(found)]


def _device(name: str) -> str:
    """The device to train on; torch is asked only where there may be a GPU."""
    if name == "cpu" or (name == "auto" and not shutil.which("nvidia-smi")):
        return "cpu"
    from grokbook.engine import device

    return device.choose_device(name)


def _list(options: argparse.Namespace) -> int:
    on = _device(options.device)
    scales = [options.scale] if options.scale else ["laptop", "paper"]
    for name in [e.name for e in _experiments(options.names, scales[0])]:
        for one in (papers.get(name, scale) for scale in scales):
            there, every = records.recorded(one), [*one.members()]
            taken = [expected(arm, there, on) for arm, _ in every]
            known = sum(seconds for seconds in taken if seconds is not None)
            where = "the GPU" if on == "cuda" else "one core"
            print(
                f"{name:24} {one.scale:7} {len(there):3}/{len(every):<3} recorded  "
                + (f"about {span(known)} on {where}" if known else "no estimate")
            )
    return 0


def _into(options: argparse.Namespace) -> Path | None:
    """Where to train: beside the book, unless a folder (None: the book's) is named."""
    if options.record and not options.dry_run:
        _need_a_commit()
    if options.out or options.record or os.environ.get("GROKBOOK_RECORDS"):
        return options.out
    if not options.names:
        raise BadCall(
            "name an experiment, as in `grokbook run prieto2025/fig06b`, or say where "
            "all that is missing shall go: --record into data/records, or --out FOLDER"
        )
    return project.reruns_folder()


def _need_a_commit() -> None:
    """GrokbookError where a record could not say which code has trained it."""
    commit = records.commit()
    if commit == "unknown":
        raise GrokbookError(
            "no git here: set GROKBOOK_COMMIT to the commit that trains"
        )
    if commit.endswith("+"):
        raise GrokbookError(
            "src has changes that are not committed, and a record names the commit "
            "that trained it: commit them, or train into --out FOLDER"
        )


def _run(options: argparse.Namespace) -> int:
    from grokbook.engine import device, pool

    on, out = device.choose_device(options.device), _into(options)
    experiments = _experiments(options.names, options.scale)
    if options.seeds is not None:
        known = sorted({seed for e in experiments for seed in e.seeds})
        if unknown := sorted(set(options.seeds) - set(known)):
            raise UnknownName(
                f"no seed {unknown} at {options.scale} scale: choose from {known}"
            )
        experiments = [e for e in experiments if set(options.seeds) & set(e.seeds)]
    names = dict.fromkeys(arm.name for e in experiments for arm in e.arms)
    fitting = set[str]()
    for pattern in options.arms or ["*"]:
        if not (found := fnmatch.filter(names, pattern)):
            raise UnknownName(f"no arm fits {pattern!r}: there are {', '.join(names)}")
        fitting.update(found)
    experiments = [e for e in experiments if fitting & {arm.name for arm in e.arms}]
    which: dict[str, Any] = {"seeds": options.seeds, "arms": options.arms or ["*"]}
    if options.dry_run:
        for task in pool.tasks(experiments, out, on, replace=options.replace, **which):
            where = " ".join(experiment.name for experiment in task.experiments)
            took = span(task.seconds) if task.seconds else "no estimate"
            print(where, task.member[0].name, task.member[1], took, sep="\t")
        return 0
    done = pool.run_all(
        experiments,
        device=on,
        out=out,
        time_budget=options.time_budget,
        processes=options.processes,
        replace=options.replace,
        keep_going=not options.names,
        **which,
    )
    if out is None:
        _write_index()
    for record in done:
        folder = out or records.root()
        print(f"{record.name} {record.scale}: {len(record)} members in {folder}")
    tasks = pool.tasks(experiments, out, on, **which)
    if left := dict.fromkeys(e.name for task in tasks for e in task.experiments):
        raise Unfinished(
            f"time is up before {', '.join(left)}; the same command goes on from the "
            "checkpoints"
        )
    return 0


def _merge(options: argparse.Namespace) -> int:
    found = records.merge(
        options.folders,
        _every(SCALES if options.out else SCALES[:2]),  # smoke is not for the book
        into=options.out,
        replace=options.replace,
        dry_run=options.dry_run,
    )
    print(", ".join(f"{len(paths)} {what}" for what, paths in found.items()))
    if options.out is None and not options.dry_run:
        _write_index()
    return 0


def _every(scales: Sequence[str] = SCALES) -> list[Experiment]:
    return [papers.get(name, scale) for name in papers.names() for scale in scales]


def _write_index() -> None:
    """Say in the records' folder which of its files is which member."""
    with files.whole(records.root() / "index.csv") as path:
        path.write_text(records.index(_every()), encoding="utf-8")


def _status(options: argparse.Namespace) -> int:
    problems = []
    for name in [e.name for e in _experiments(options.names, "paper")]:
        for scale in SCALES:
            try:
                record = records.load(papers.get(name, scale))
            except NoRecord:
                continue
            except RecordError as error:
                problems.append(str(error))
                continue
            about = list(record.members.values())
            rates = sorted(member["epochs_per_second"] for member in about)
            print(
                f"{name:24} {scale:7} {len(about):3} members, "
                f"{len(record.missing)} missing, {span(record.seconds):>8}, median "
                f"{rates[len(rates) // 2]:6.0f} epochs/s, "
                f"{', '.join(sorted({m['device_name'] for m in about}))}, "
                f"{max(m['finished'] for m in about)}"
            )
    if not options.names:
        stale = records.stale(_every())
        problems += [f"{path} is stale: no arm of today reads it" for path in stale]
    for problem in dict.fromkeys(problems):  # scales may share a file
        _complain(problem)
    return 1 if problems else 0
