"""The command ``grokbook``: list, run and status need no Jupyter; the rest does.

Exit codes: 0 done, 1 something is wrong (one sentence on stderr says what), 2 the call
itself is wrong, 75 the time budget ended first (the same command goes on).
"""

import argparse
import fnmatch
import math
import sys
from pathlib import Path
from typing import NoReturn

from grokbook import papers, records, training, workers
from grokbook.datasets import DataError
from grokbook.experiment import SCALES, Experiment

UNFINISHED = 75


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    expected = (
        records.RecordError,
        training.TrainingError,
        papers.UnknownName,
        DataError,
        *_page_errors(options.command),
    )
    try:
        return options.function(options)
    except expected as error:
        print(f"grokbook: {error}", file=sys.stderr)
        if isinstance(error, training.Unfinished):
            return UNFINISHED
        return 2 if isinstance(error, papers.UnknownName) else 1
    except OSError as error:
        print(
            f"grokbook: {error.filename or 'a file'}: {error.strerror or error}; "
            "check the path, its permissions and the free space",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("grokbook: stopped; the same command goes on", file=sys.stderr)
        return 130


def _page_errors(command: str) -> tuple[type[Exception], ...]:
    if command not in ("execute", "check", "index"):
        return ()
    from grokbook import pages

    return (pages.PageError,)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a call in one line instead of its whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"grokbook: {message}; `{self.prog} --help` shows what it takes\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "grokbook", description="Train, execute and check The Grokking Book."
    )
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, function, help: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, description=help)
        command.set_defaults(function=function)
        return command

    command = add("list", _list, "experiments, recorded or not, expected seconds")
    command.add_argument("names", nargs="*", help="experiments or beginnings of names")
    command.add_argument("--scale", default="paper", help=", ".join(SCALES))
    command.add_argument("--device", default="auto", help="auto, cpu or cuda")

    command = add("run", _run, "train what an experiment lacks and record it")
    command.add_argument("names", nargs="+", help="experiments or beginnings of names")
    command.add_argument("--scale", default="laptop", help=", ".join(SCALES))
    command.add_argument("--device", default="auto", help="auto, cpu or cuda")
    command.add_argument("--time-budget", type=_seconds, help="seconds for everything")
    command.add_argument("--arms", default="*", help='only these, as in "70%%*"')
    command.add_argument("--seeds", type=_numbers, help="only these, as in 42,0,1")
    command.add_argument("--processes", type=_count, help="CPU workers, 0: none")
    command.add_argument("--out", type=Path, help="another folder for the records")

    command = add("status", _status, "what is recorded, when, on what, how fast")
    command.add_argument("names", nargs="*", help="experiments or beginnings of names")

    command = add("execute", _execute, "execute pages (papermill)")
    command.add_argument("pages", nargs="+", help="pages, as in prieto2025/fig02")
    command.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        metavar=("NAME", "VALUE"),
        help="a parameter of the page; the result is a rerun beside the book",
    )
    command.add_argument("--out", type=Path, help="notebook to write a rerun to")

    command = add("check", _check, "pairs in step, all executed, records fresh")
    command.add_argument("pages", nargs="*", help="pages, all by default")
    add("index", _index, "write the gallery, the scoreboard and the status page")
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
    found = []
    for prefix in prefixes or [""]:
        found += papers.names(prefix) or [papers.get(prefix, scale).name]
    return [papers.get(name, scale) for name in dict.fromkeys(found)]


def _list(options: argparse.Namespace) -> int:
    device = training.choose_device(options.device)
    experiments = _experiments(options.names, options.scale)
    rate = workers.matmul_rate(device)
    for experiment in experiments:
        members = len(list(experiment.members()))
        left = len(records.missing(experiment))
        seconds = workers.expected_seconds(experiment, device, rate)
        print(
            f"{experiment.name:24} {experiment.scale:7} "
            f"{members - left:3}/{members:<3} members  about {seconds:8.0f} s in all"
        )
    return 0


def _run(options: argparse.Namespace) -> int:
    training.choose_device(options.device)
    experiments = _experiments(options.names, options.scale)
    if options.seeds is not None:
        known = sorted({seed for e in experiments for seed in e.seeds})
        unknown = sorted(set(options.seeds) - set(known))
        if unknown:
            raise papers.UnknownName(
                f"no seed {unknown} at {options.scale} scale: choose from {known}"
            )
        experiments = [e for e in experiments if set(options.seeds) & set(e.seeds)]
    names = [arm.name for e in experiments for arm in e.arms]
    fitting = set(fnmatch.filter(names, options.arms))
    if not fitting:
        raise papers.UnknownName(
            f"no arm fits {options.arms!r}: there are {', '.join(names)}"
        )
    experiments = [e for e in experiments if fitting & {arm.name for arm in e.arms}]
    found = workers.run_all(
        experiments,
        device=options.device,
        out=options.out,
        time_budget=options.time_budget,
        processes=options.processes,
        seeds=options.seeds,
        arms=options.arms,
    )
    unfinished = []
    for record in found:
        todo = [
            (arm, seed)
            for arm, seed in record.missing
            if (options.seeds is None or seed in options.seeds) and arm in fitting
        ]
        print(
            f"{record.name} {record.scale}: {len(record.members)} members in "
            f"{record.path}"
        )
        unfinished += [record.name] if todo else []
    if unfinished:
        print(
            f"grokbook: time is up before {', '.join(unfinished)}; the same command "
            "goes on from the checkpoints",
            file=sys.stderr,
        )
        return UNFINISHED
    return 0


def _status(options: argparse.Namespace) -> int:
    problems = []
    for name in [e.name for e in _experiments(options.names, "paper")]:
        for scale in SCALES:
            if not records.path_of(name, scale).exists():
                continue
            try:
                record = records.load(papers.get(name, scale))
            except records.RecordError as error:
                problems.append(str(error))
                continue
            about = list(record.members.values())
            rates = sorted(member["epochs_per_second"] for member in about)
            print(
                f"{name:24} {scale:7} {len(about):3} members, "
                f"{len(record.missing)} missing, {record.seconds:7.0f} s, median "
                f"{rates[len(rates) // 2]:6.0f} epochs/s, "
                f"{', '.join(sorted({m['device_name'] for m in about}))}, "
                f"{max(m['finished'] for m in about)}"
            )
    for problem in problems:
        print(f"grokbook: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _execute(options: argparse.Namespace) -> int:
    from grokbook import pages

    parameters = dict(options.parameter) if options.parameter else None
    for path in pages.execute(options.pages, parameters, options.out):
        print(path)
    return 0


def _check(options: argparse.Namespace) -> int:
    from grokbook import pages

    problems = pages.check(options.pages or None)
    for problem in problems:
        print(f"grokbook: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _index(options: argparse.Namespace) -> int:
    from grokbook import catalogue

    for path in catalogue.index():
        print(path)
    return 0
