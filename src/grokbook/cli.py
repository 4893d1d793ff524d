"""The command ``grokbook``: list, run, plan, merge and status.

Exit codes: 0 done, 1 something is wrong (one sentence on stderr says what), 2 the call
itself is wrong, 75 the time budget ended first (the same command goes on).
"""

import argparse
import contextlib
import fnmatch
import json
import math
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

from grokbook import papers, project, records
from grokbook.durations import span
from grokbook.errors import BadCall, GrokbookError, RecordError, Unfinished, UnknownName
from grokbook.experiment import SCALES, Experiment


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _open_streams()
    warnings.showwarning = _warn
    try:
        options = _parser().parse_args(arguments)
        _need_a_folder()
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
        name = os.fsdecode(error.filename) if error.filename else "a file"
        _complain(
            f"{name}: {error.strerror or error}; check the path, its permissions and "
            "the free space"
        )
        return 1
    except KeyboardInterrupt:
        _complain("stopped; the same command goes on from where it saved its state")
        return 130


def _open_streams() -> None:
    """Streams that take every letter, and a place for those that were closed.

    Otherwise the next file that is opened would be standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, this one
            setattr(sys, name, os.fdopen(number, "r+" if number else "r"))
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _need_a_folder() -> None:
    """GrokbookError where the working directory is gone, which libraries die of."""
    try:
        os.getcwd()
    except OSError as error:
        raise GrokbookError(
            "the working directory no longer exists: change to one that does"
        ) from error


def _complain(sentence: str) -> None:
    print(f"grokbook: {sentence}", file=sys.stderr)


def _warn(message: Warning | str, *about: Any, **more: Any) -> None:
    del about, more
    _complain(f"warning: {message}")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a call in one line instead of its whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"grokbook: {message}; `{self.prog} --help` shows what it takes\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("grokbook", description="Train what The Grokking Book shows.")
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, function: Any, help: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, description=help)
        command.set_defaults(function=function)
        return command

    def add_choice(command: argparse.ArgumentParser, scale: str) -> None:
        command.add_argument("names", nargs="*", help="experiments, or how names begin")
        shown = f"{', '.join(SCALES)} (default: {scale or 'laptop and paper'})"
        command.add_argument("--scale", default=scale, help=shown)
        command.add_argument("--device", default="auto", help="auto, cpu or cuda")

    command = add("list", _list, "experiments, recorded or not, expected time")
    add_choice(command, "")

    command = add(
        "run", _run, "train what is missing in data/reruns, most valuable first"
    )
    add_choice(command, "laptop")
    command.add_argument("--time-budget", type=_seconds, help="seconds for everything")
    command.add_argument(
        "--arms", action="append", help='only these, as in "70%%*"; may be repeated'
    )
    command.add_argument("--seeds", type=_numbers, help="only these, as in 42,0,1")
    command.add_argument("--processes", type=_count, help="CPU workers, 0: none")
    command.add_argument("--matmul", choices=("torch", "onednn"), help="of the CPU")
    command.add_argument("--replace", action="store_true", help="train them again")
    command.add_argument("--dry-run", action="store_true", help="print the order only")
    into = command.add_mutually_exclusive_group()
    into.add_argument("--record", action="store_true", help="into the book's records")
    into.add_argument("--out", type=Path, help="a folder for the records")

    command = add("plan", _plan, "what is missing, as jobs for other machines (JSON)")
    command.add_argument("names", nargs="*", help="experiments, or how names begin")
    command.add_argument("--scale", default="paper", help=", ".join(SCALES))
    command.add_argument("--device", default="cpu", help="cpu or cuda, of the others")
    command.add_argument("--out", type=Path, help="another folder of records")

    command = add("merge", _merge, "take records trained elsewhere into the book")
    command.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    command.add_argument("--replace", action="store_true", help="also members there")
    command.add_argument("--dry-run", action="store_true", help="only say what")
    command.add_argument("--out", type=Path, help="another folder to merge into")

    command = add("status", _status, "what is recorded, when, on what, how fast")
    command.add_argument("names", nargs="*", help="experiments, or how names begin")

    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return int(text)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of integers like 42,0,1"
        ) from None


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
        every = {scale: papers.get(name, scale) for scale in SCALES}
        there = {scale: records.recorded(one) for scale, one in every.items()}
        for scale in scales:
            others = [(every[s], there[s]) for s in SCALES[:2] if s != scale]
            members = len(list(every[scale].members()))
            print(
                f"{name:24} {scale:7} {len(there[scale]):3}/{members:<3} recorded  "
                f"about {_expected(every[scale], there[scale], others, on)}"
            )
    return 0


def _expected(
    experiment: Experiment,
    recorded: dict[str, Any],
    others: list[tuple[Experiment, dict[str, Any]]],
    on: str,
) -> str:
    """How long all members take on this machine, in words."""
    if on == "cuda":
        from grokbook.engine import plan

        tasks = plan.tasks([experiment], None, on, replace=True)
        return f"{span(sum(s for _, s in plan.planned(tasks, on)))} on the GPU"
    from grokbook.engine import expected

    cores = expected.cores()
    took = expected.seconds(experiment, recorded, others, on_cores=cores)
    return f"{span(took)} on {cores} core{'s' if cores > 1 else ''}"


def _into(options: argparse.Namespace) -> Path | None:
    """Where to train: beside the book, unless a folder (None: the book's) is named."""
    if options.out or options.record or os.environ.get("GROKBOOK_RECORDS"):
        return options.out
    if not options.names:
        raise BadCall(
            "name an experiment, as in `grokbook run prieto2025/fig06b`, or say where "
            "all that is missing shall go: --record into data/records, or --out FOLDER"
        )
    return project.reruns_folder()


def _run(options: argparse.Namespace) -> int:
    from grokbook.engine import device, plan, pool

    on, out = device.choose_device(options.device), _into(options)
    experiments = _experiments(options.names, options.scale)
    if options.seeds is not None:
        known = sorted({seed for e in experiments for seed in e.seeds})
        if unknown := sorted(set(options.seeds) - set(known)):
            raise UnknownName(
                f"no seed {unknown} at {options.scale} scale: choose from {known}"
            )
        experiments = [e for e in experiments if set(options.seeds) & set(e.seeds)]
    names = [arm.name for e in experiments for arm in e.arms]
    patterns = options.arms or ["*"]
    fitting: set[str] = set()
    for pattern in patterns:
        if not (found := fnmatch.filter(names, pattern)):
            raise UnknownName(f"no arm fits {pattern!r}: there are {', '.join(names)}")
        fitting.update(found)
    experiments = [e for e in experiments if fitting & {arm.name for arm in e.arms}]

    def wanted(arm: str, seed: int) -> bool:
        return arm in fitting and (options.seeds is None or seed in options.seeds)

    if options.dry_run:
        todo = plan.tasks(experiments, out, on, options.matmul, replace=options.replace)
        todo = [t for t in todo if wanted(t.member[0].name, t.member[1])]
        return _print_plan(plan.planned(todo, on))
    done = pool.run_all(
        experiments,
        device=on,
        matmul=options.matmul,
        out=out,
        time_budget=options.time_budget,
        processes=options.processes,
        seeds=options.seeds,
        arms=patterns,
        replace=options.replace,
        keep_going=not options.names,
    )
    unfinished = []
    for record in done:
        print(
            f"{record.name} {record.scale}: {len(record.members)} members in "
            f"{record.path}"
        )
        if any(wanted(*member) for member in record.missing):
            unfinished.append(record.name)
    if unfinished:
        raise Unfinished(
            f"time is up before {', '.join(unfinished)}; the same command goes on from "
            "the checkpoints"
        )
    return 0


def _print_plan(order: list[tuple[list[Any], float]]) -> int:
    total = 0.0
    for group, seconds in order:
        total += seconds
        names = dict.fromkeys(t.member[0].name for t in group)
        where = dict.fromkeys(e.name for t in group for e in t.experiments)
        print(
            f"{span(total):>8}  {', '.join(where)}: {', '.join(names)}  "
            f"({len(group)} members, {min(t.seeds for t in group)} seeds so far, about "
            f"{span(seconds)})"
        )
    print(f"{sum(len(group) for group, _ in order)} members, about {span(total)}")
    return 0


def _plan(options: argparse.Namespace) -> int:
    from grokbook.engine import jobs

    experiments = _experiments(options.names, options.scale)
    found = jobs.jobs(experiments, options.device, options.out)
    print(json.dumps([job.to_json() for job in found], indent=1, ensure_ascii=False))
    return 0


def _merge(options: argparse.Namespace) -> int:
    found = records.merge(
        options.folders,
        papers.get,
        into=options.out,
        replace=options.replace,
        dry_run=options.dry_run,
    )
    for one in found:
        print(one)
    return 0


def _status(options: argparse.Namespace) -> int:
    problems = []
    for name in [e.name for e in _experiments(options.names, "paper")]:
        for scale in SCALES:
            if not records.path_of(name, scale).exists():
                continue
            try:
                record = records.load(papers.get(name, scale))
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
    for problem in problems:
        _complain(problem)
    return 1 if problems else 0
