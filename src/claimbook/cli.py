"""The command ``grokbook``: list, run, merge and status.

Exit codes: 0 done, 1 something is wrong, 2 the call is, 75 time is up, 130 Ctrl-C.
"""

import argparse
import fnmatch
import itertools
import json
import math
import os
from datetime import timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from claimbook import __version__, errors, papers, project, records
from claimbook.experiment import SCALES, Experiment

LINE = "{experiment:24} {scale:7} {recorded:3}/{members:<3} recorded, last {last}; "
LINE += "all: {all}"


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    errors.warn_in_one_line()
    try:
        options = _parser().parse_args(arguments)
        code = COMMANDS[options.command](options)
        print(end="", flush=True)  # even where there is no output
        return code
    except BrokenPipeError:  # `| head` has seen enough
        os._exit(0)
    except errors.BookError as error:
        errors.complain(str(error))
        return error.code
    except OSError as error:
        errors.complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        errors.complain(
            "stopped; the same command goes on from where it saved its state"
        )
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("grokbook", description="Train the book's runs.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    named = argparse.ArgumentParser(add_help=False)
    names = named.add_argument("names", nargs="*", help="experiments, or beginnings")
    scales = ", ".join(SCALES)

    about = "what is recorded, on what, and how long all of it takes"
    option = commands.add_parser("list", parents=[named], help=about).add_argument
    option("--scale", help=f"{scales} (default: all)")
    option("--json", action="store_true", help="a JSON object per line")

    about = "train what is missing, fewest seeds first"
    option = commands.add_parser("run", parents=[named], help=about).add_argument
    option("--scale", default="laptop", help=f"{scales} (default: laptop)")
    option("--device", default="auto", help="auto, cpu or cuda")
    option("--time-budget", type=_seconds, default=math.inf, metavar="SECONDS")
    option("--arms", action="append", default=[], help='as in "70%%*", repeatable')
    option("--seeds", type=_seeds, default=[], help="only these, as in 42,0,1")
    option("--processes", type=_processes, help="CPU workers, 0: none")
    option("--replace", action="store_true", help="train again what is there")
    option("--dry-run", action="store_true", help="print the order only")
    option("--record", action="store_true", help="into the book's records")
    option("--out", type=_folder, help="a folder for the records")

    about = "take records trained elsewhere into the book"
    option = commands.add_parser("merge", help=about).add_argument
    option("folders", nargs="+", type=_folder, metavar="FOLDER")
    option("--replace", action="store_true", help="also members that are there")
    option("--dry-run", action="store_true", help="only say what")
    option("--out", type=_folder, help="another folder to merge into")

    about = "as list, but all is read: is anything damaged, stale or without code?"
    option = commands.add_parser("status", parents=[named], help=about).add_argument
    option("--json", action="store_true", help="a JSON object per line")
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could follow
        import argcomplete

        names.completer = lambda **_: papers.names()  # type: ignore[attr-defined]
        argcomplete.autocomplete(parser)
    return parser


def _folder(text: str) -> Path:
    if "\0" in text or text.encode(errors="replace").decode() != text:
        raise argparse.ArgumentTypeError(f"{text!r} has NUL or is not in UTF-8")
    return Path(text)


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        told = f"{text!r} is no list of seeds: write whole numbers, as in 42,0,1"
        raise argparse.ArgumentTypeError(told) from None


def _processes(text: str) -> int:
    if not text.isdecimal():
        told = f"{text!r} is no number of processes: write 0, 1, 2 or more"
        raise argparse.ArgumentTypeError(told)
    return int(text)


def _seconds(text: str) -> float:
    told = f"{text!r} is no time: write seconds, as in 1500"
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(told) from None
    if not seconds >= 0:  # nor NaN, with which no time would ever be up
        raise argparse.ArgumentTypeError(told)
    return seconds


def _names(prefixes: list[str]) -> list[str]:
    """All experiments that begin so; UnknownName where none does."""
    found: list[str] = []
    for one in prefixes or [""]:
        found += papers.names(one) or errors.choose("experiment", one, papers.names())
    return list(dict.fromkeys(found))


def _list(options: argparse.Namespace) -> int:
    """A line per experiment; ``status`` reads all of its record, and what is stale."""
    is_status, problems = options.command == "status", []
    scales = SCALES if is_status or not options.scale else [options.scale]
    for name, scale in itertools.product(_names(options.names), scales):
        experiment = papers.get(name, scale)
        try:
            read = records.load(experiment).members if is_status else None
            about = _about(experiment, read or records.recorded(experiment))
            print(json.dumps(about) if options.json else LINE.format(**about))
        except errors.NoRecord:
            continue
        except errors.RecordError as error:
            problems.append(str(error))
    if is_status and not options.names:
        stale = records.stale(_every())
        problems += [f"{path} is stale: no arm of today reads it" for path in stale]
        _tell_orphans()
    for problem in dict.fromkeys(problems):  # scales may share a file
        errors.complain(problem)
    return 1 if problems else 0


def _tell_orphans() -> None:
    """Say which recorded columns nobody can measure again, which is no fault."""
    from claimbook import names, observing

    names.observables()  # all are registered now
    for stem, many in records.orphans(observing.stems()).items():
        have = "1 member has" if many == 1 else f"{many} members have"
        errors.complain(
            f"column {stem}: {have} it and no observable of today makes it; it cannot "
            "be measured again"
        )


def _about(experiment: Experiment, members: dict[str, Any]) -> dict[str, Any]:
    """What is recorded, and seconds of all of it on the devices that trained it."""
    every, taken = len(list(experiment.members())), dict[str, list[float]]()
    for about in members.values():
        taken.setdefault(about["device_name"], []).append(about["seconds"])
    last = max((about["finished"] for about in members.values()), default="never")
    found = {"experiment": experiment.name, "scale": experiment.scale, "last": last}
    seconds = {name: round(every * mean(each)) for name, each in taken.items()}
    long = [f"{timedelta(seconds=each)} on {name}" for name, each in seconds.items()]
    found |= {"recorded": len(members), "members": every, "seconds": seconds}
    return found | {"all": ", ".join(long) or "no estimate"}


def _into(options: argparse.Namespace) -> Path | None:
    """Where to train: beside the book, unless a folder (None: the book's) is named."""
    commit = project.commit()
    if options.record and not options.dry_run and commit.endswith(("+", "unknown")):
        raise errors.BookError(
            f"a record names the commit that trained it, and this would be {commit!r}: "
            "commit the changes in src, set GROKBOOK_COMMIT if there is no git, or "
            "train into --out FOLDER"
        )
    if options.out or options.record or os.environ.get("GROKBOOK_RECORDS"):
        return options.out
    if not options.names:
        told = "name an experiment, or a place for all: --record or --out FOLDER"
        raise errors.UnknownName(told)
    return project.home() / "data" / "reruns"


def _run(options: argparse.Namespace) -> int:
    from claimbook.engine import device, pool

    on, out = device.choose_device(options.device), _into(options)
    every = [papers.get(name, options.scale) for name in _names(options.names)]
    names = dict.fromkeys(arm.name for one in every for arm in one.arms)
    for pattern in options.arms:
        if not fnmatch.filter(names, pattern):
            errors.choose("arm", pattern, names)
    seeds = {str(seed) for one in every for seed in one.seeds}
    for seed in options.seeds:
        errors.choose(f"seed at {options.scale} scale", str(seed), seeds)
    which = {"seeds": options.seeds, "arms": options.arms, "replace": options.replace}
    todo = pool.tasks(every, out, **which)
    if options.dry_run:
        for task in todo:
            where = " ".join(one.name for one in task.experiments)
            print(where, task.member[0].name, task.member[1], sep="\t")
        return 0
    how = {"time_budget": options.time_budget, "processes": options.processes}
    left = pool.train(todo, device=on, **how)
    if out is None:
        _write_index()
    for one in {e.name: e for task in todo for e in task.experiments}.values():
        there = f"{len(records.recorded(one, out))} members in"
        print(f"{one.name} {one.scale}: {there} {out or project.records_folder()}")
    if left:
        again = "the same command goes on from the checkpoints"
        if options.replace:
            again = "name these with --arms and --seeds"
        told = f"time is up before {left} of {len(todo)} members: {again}"
        raise errors.Unfinished(told)
    return 0


def _merge(options: argparse.Namespace) -> int:
    # smoke is not for the book
    every = _every(SCALES if options.out else SCALES[:2])
    how = {"replace": options.replace, "dry_run": options.dry_run}
    into = options.out or project.records_folder()
    found = records.merge(options.folders, every, into, **how)
    print(", ".join(f"{len(paths)} {what}" for what, paths in found.items()))
    if options.out is None and not options.dry_run:
        _write_index()
    return 0


def _every(scales: tuple[str, ...] = SCALES) -> list[Experiment]:
    return [papers.get(name, scale) for name in papers.names() for scale in scales]


def _write_index() -> None:
    """Say in the records' folder which of its files is which member."""
    with project.whole(project.records_folder() / "index.csv") as path:
        path.write_text(records.index(_every()), encoding="utf-8")


COMMANDS = {"list": _list, "run": _run, "merge": _merge, "status": _list}
