"""The command ``grokbook``: list, run, merge and status.

Exit codes: 0 done, 1 something is wrong, 2 the call is, 75 time is up, 130 Ctrl-C.
"""

import argparse
import itertools
import json
import math
import os
from datetime import timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from claimbook import __version__, change, errors, papers, project, records
from claimbook.experiment import SCALES, Experiment

# A line of ``list``, which `_summary` fills in.
LINE = "{experiment:24} {scale:7} {recorded:3}/{members:<3} recorded, last {last}; "
LINE += "all: {all}"


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code, which the module's docstring lists.

    ``arguments`` are the words after "grokbook", by default those of this process. An
    error that the reader can mend is one line on stderr. Raises SystemExit for words
    that argparse refuses (with code 2), and for --help.
    """
    errors.warn_in_one_line()
    try:
        options = _parser().parse_args(arguments)
        if options.version and options.command:
            raise errors.UnknownName("--version stands alone: leave out the rest")
        if options.version:
            print(__version__)
            return 0
        if not options.command:
            raise errors.UnknownName(f"name a command: {', '.join(COMMANDS)}")
        code = COMMANDS[options.command](options)
        print(end="", flush=True)  # so that a closed pipe is noticed here
        return code
    except BrokenPipeError:  # the reader, such as `| head`, has ended
        os._exit(0)  # at once: a usual exit would write to the pipe again
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
    """Return the parser of the command line, with a subparser for each command."""
    parser = argparse.ArgumentParser("grokbook", description="Train the book's runs.")
    parser.add_argument("--version", action="store_true")
    commands = parser.add_subparsers(dest="command")
    # has the argument that ``list``, ``status`` and ``run`` share
    with_names = argparse.ArgumentParser(add_help=False)
    names_argument = with_names.add_argument(
        "names", nargs="*", help="experiments, or beginnings"
    )
    scales = ", ".join(SCALES)

    # ``option`` adds an option to the command that was named last
    summary_by_command = {
        "list": "what is recorded, on what, and how long all of it takes",
        "status": "as list, all files read: is any damaged, stale or without code?",
    }
    for command, summary in summary_by_command.items():
        parsed = commands.add_parser(command, parents=[with_names], help=summary)
        option = parsed.add_argument
        option("--scale", help=f"{scales} (default: all)")
        option("--json", action="store_true", help="a JSON object per line")

    summary = "train what is missing, fewest seeds first"
    option = commands.add_parser("run", parents=[with_names], help=summary).add_argument
    option("--scale", default="laptop", help=f"{scales} (default: laptop)")
    option("--device", default="auto", help="auto, cpu or cuda")
    option("--time-budget", type=_budget_seconds, default=math.inf, metavar="SECONDS")
    option("--arms", action="append", default=[], help='as in "70%%*", repeatable')
    option("--seeds", type=_seed_list, default=[], help="only these, as in 42,0,1")
    about = "with another setting, as in optimizer.lr=0.02, repeatable"
    option("--set", action="append", default=[], metavar="SETTING", help=about)
    option("--processes", type=worker_count, help="workers, 0: none")
    option("--replace", action="store_true", help="train again what is there")
    option("--dry-run", action="store_true", help="print the order only")
    option("--record", action="store_true", help="into the book's records")
    option("--out", type=given_path, help="a folder for the records")

    summary = "take records trained elsewhere into the book"
    option = commands.add_parser("merge", help=summary).add_argument
    option("folders", nargs="+", type=given_path, metavar="FOLDER")
    option("--replace", action="store_true", help="also members that are there")
    option("--uncommitted", action="store_true", help="also of code in no commit")
    option("--dry-run", action="store_true", help="only say what")
    option("--out", type=given_path, help="another folder to merge into")
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        import argcomplete

        names_argument.completer = lambda **_: papers.names()  # type: ignore
        argcomplete.autocomplete(parser)
    return parser


def given_path(text: str) -> Path:
    """Return the path that an argument gives.

    The path need not exist. Raises ArgumentTypeError for one that no file can have, and
    for an empty text, as of an unset variable: as a path it would be the working
    directory.
    """
    # bytes that are not UTF-8 are surrogates in the text, which "replace" changes
    if not text or "\0" in text or text.encode(errors="replace").decode() != text:
        message = f"{text!r} is empty, has NUL or is not in UTF-8"
        raise argparse.ArgumentTypeError(message)
    return Path(text)


def _seed_list(text: str) -> list[int]:
    """Return the seeds that an argument lists, separated by commas: at least one.

    Raises ArgumentTypeError for anything but whole numbers.
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"{text!r} is not a list of seeds: write whole numbers, as in 42,0,1"
        raise argparse.ArgumentTypeError(message) from None


def worker_count(text: str) -> int:
    """Return the number of worker processes that an argument gives, from 0 on.

    With 0 this process trains itself. Raises ArgumentTypeError for any other text.
    """
    if not text.isdecimal():
        message = f"{text!r} is not a number of processes: write 0, 1, 2 or more"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _budget_seconds(text: str) -> float:
    """Return the time budget that an argument gives, in seconds: from 0 to infinity.

    Raises ArgumentTypeError for any other text.
    """
    message = f"{text!r} is not a time: write seconds, as in 1500"
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(message) from None
    if not seconds >= 0:  # NaN fails too: with it time would never be up
        raise argparse.ArgumentTypeError(message)
    return seconds


def _matching_names(prefixes: list[str]) -> list[str]:
    """Return the names of the experiments that begin with any of the prefixes.

    Each name comes once; without prefixes all do. A prefix that is the name of an
    experiment stands for it alone, see `papers.names`. Raises UnknownName for a prefix
    with which no experiment begins, and for "".
    """
    if not prefixes:
        return papers.names()
    matching = []
    for prefix in prefixes:
        matches = papers.names(prefix)
        # "", as of an unset variable, begins every name: nobody means all of them
        if not (prefix and matches):
            errors.choose("experiment", prefix, papers.names())  # raises
        matching += matches
    return list(dict.fromkeys(matching))


def _list(options: argparse.Namespace) -> int:
    """Run ``list`` or ``status``: print a line per experiment and scale.

    ``status`` leaves out those without a record, and reads every file of the others,
    where ``list`` reads the metadata alone. If a file is damaged, a sentence on stderr
    takes the place of the line. Without names of experiments ``status`` reports stale
    files and orphaned columns as well, those of all scales. Returns the exit code,
    which is 1 if a file is damaged or stale.
    """
    is_status = options.command == "status"
    problems = []
    scales = SCALES if options.scale is None else [options.scale]
    for name, scale in itertools.product(_matching_names(options.names), scales):
        experiment = papers.get(name, scale)
        try:
            members = records.recorded(experiment, whole=is_status)
            if is_status and not members:
                continue
            summary = _summary(experiment, members)
            print(json.dumps(summary) if options.json else LINE.format(**summary))
        except errors.RecordError as error:
            problems.append(str(error))
    if is_status and not options.names:
        stale = records.stale(papers.every())
        problems += [f"{path} is stale: no arm of today reads it" for path in stale]
        _report_orphans()
    for problem in dict.fromkeys(problems):  # scales may share a file
        errors.complain(problem)
    return 1 if problems else 0


def _report_orphans() -> None:
    """Print on stderr the recorded columns that no observable makes any more.

    They are named by their stems, the names up to the first dot. They are not a fault,
    but nobody can measure them again.
    """
    from claimbook import names, observing

    stems = observing.stems(names.observables())  # of what can be measured today
    for stem, count in records.orphans(stems).items():
        have = "1 member has" if count == 1 else f"{count} members have"
        errors.complain(
            f"column {stem}: {have} it and no observable of today makes it; it cannot "
            "be measured again"
        )


def _summary(experiment: Experiment, members: dict[str, Any]) -> dict[str, Any]:
    """Return what is recorded of an experiment, and how long all of it would take.

    ``members`` is the metadata of its recorded members, by "arm|seed". The entry
    "recorded" is their number and "members" that of all, recorded or not. "seconds" has
    for each device that trained some the estimated time of all members there, and "all"
    the same in words, "no estimate" if none is recorded. "last" is the day on which the
    last one was trained, or "never".
    """
    member_count = len(list(experiment.members()))
    # training times of the recorded members, by device
    seconds_each = dict[str, list[float]]()
    for meta in members.values():
        seconds_each.setdefault(meta["device_name"], []).append(meta["seconds"])
    seconds = {
        device: round(member_count * mean(times))
        for device, times in seconds_each.items()
    }
    durations = [f"{timedelta(seconds=s)} on {device}" for device, s in seconds.items()]
    return {
        "experiment": experiment.name,
        "scale": experiment.scale,
        "last": max((meta["finished"] for meta in members.values()), default="never"),
        "recorded": len(members),
        "members": member_count,
        "seconds": seconds,
        "all": ", ".join(durations) or "no estimate",
    }


def _target_folder(options: argparse.Namespace) -> Path | None:
    """Return the folder into which ``run`` records; None is that of the book's records.

    It is that of --out, else None with --record or GROKBOOK_RECORDS, else data/reruns;
    with --set, it is that of --out or else data/reruns. Raises BookError if --record
    would record code that is in no commit, or if settings of --set would go to the
    book's records. Raises UnknownName for a call without --set that names neither an
    experiment nor a folder: it would train the whole book into data/reruns.
    """
    if options.set:
        folder = options.out or project.reruns_folder()
        if options.record or folder.resolve() == project.records_folder().resolve():
            raise errors.BookError(
                "--set trains what is not the book's, and the book's records take none "
                "of it: leave out --record, or name another folder with --out"
            )
        return folder
    commit = project.commit()  # ends with "+" if the code has changed since
    if options.record and not options.dry_run and commit.endswith(("+", "unknown")):
        raise errors.BookError(
            f"a record names the commit that trained it, and this would be {commit!r}: "
            "commit the changes in src and book/*/experiments.py, set GROKBOOK_COMMIT "
            "if there is no git, or train into --out FOLDER"
        )
    if options.out or options.record or os.environ.get("GROKBOOK_RECORDS"):
        return options.out
    if not options.names:
        message = "name an experiment, or a place for all: --record or --out FOLDER"
        raise errors.UnknownName(message)
    return project.reruns_folder()


def _check_selection(
    experiments: list[Experiment], options: argparse.Namespace
) -> None:
    """Raise UnknownName for an option that selects nothing in any of the experiments.

    That is a pattern of --arms that fits no arm, or one of --seeds that none has.
    """
    change.check_named([arm for e in experiments for arm in e.arms], options.arms)
    # as texts, which `errors.choose` takes; a dict, as a set has no order to list
    seeds = {str(seed): seed for e in experiments for seed in e.seeds}
    for seed in options.seeds:
        errors.choose(f"seed at {options.scale} scale", str(seed), seeds)


def _run(options: argparse.Namespace) -> int:
    """Run ``run``: train the missing members, or with --dry-run print their order.

    After training, a line for each experiment of which members were to be trained says
    how many are recorded; if there were none, a line says that nothing is missing.
    Returns the exit code, 0. Raises UnknownName if no experiment has one of the arms or
    seeds that are asked for, Unfinished if the time is up before all are trained, and
    what `pool.train` raises.
    """
    from claimbook import names
    from claimbook.engine import device, pool

    chosen_device = device.choose_device(options.device)
    folder = _target_folder(options)
    matching = _matching_names(options.names)
    experiments = [papers.get(name, options.scale) for name in matching]
    _check_selection(experiments, options)
    if options.record:  # raises for code from outside that nothing pins
        names.check_pinned(arm for e in experiments for arm in e.arms)
    if options.set:
        changed = change.read(" ".join(options.set), options.arms)
        changed.check(experiments)  # raises if a setting cannot be changed so
        experiments = [changed.of(experiment) for experiment in experiments]
    tasks = pool.tasks(
        experiments,
        folder,
        seeds=options.seeds,
        arms=options.arms,
        replace=options.replace,
    )
    if options.dry_run:
        for task in tasks:
            sharing = " ".join(experiment.name for experiment in task.experiments)
            print(sharing, task.arm.name, task.seed, sep="\t")
        return 0
    if options.set:
        pool.try_out(tasks)  # raises where a new setting cannot be trained
    # how many are not recorded when the time is up
    remaining = pool.train(
        tasks,
        device=chosen_device,
        time_budget=options.time_budget,
        processes=options.processes,
    )
    if folder is None:  # the book's own records
        records.write_index(papers.every())
    place = folder or project.records_folder()
    if not tasks:
        print(f"nothing is missing in {place}")
    experiment_by_name = {e.name: e for task in tasks for e in task.experiments}
    for experiment in experiment_by_name.values():
        count = len(records.recorded(experiment, folder))
        print(f"{experiment.name} {experiment.scale}: {count} members in {place}")
    if remaining:
        remedy = "the same command goes on from the checkpoints"
        if options.replace:  # the same command would train all of them again
            remedy = "name these with --arms and --seeds"
        message = f"time is up before {remaining} of {len(tasks)} members: {remedy}"
        raise errors.Unfinished(message)
    return 0


def _merge(options: argparse.Namespace) -> int:
    """Run ``merge``: copy records from other folders into the book's, or that of --out.

    It prints how many members were added, replaced and kept. Returns the exit code, 0;
    `records.merge` says what it raises. The book's records take no members of smoke
    scale, and get their tables (`records.write_index`) anew.
    """
    from claimbook import names, observing

    names.observables()  # registers those that `observing.stems` reads
    scales = [scale for scale in SCALES if scale != "smoke" or options.out]
    merged = records.merge(
        options.folders,
        papers.every(scales),
        options.out or project.records_folder(),
        replace=options.replace,
        uncommitted=options.uncommitted,
        dry_run=options.dry_run,
        # the columns that code of today makes; a function, as the store has no torch
        stems=observing.stems,
    )
    print(", ".join(f"{len(paths)} {outcome}" for outcome, paths in merged.items()))
    if options.out is None and not options.dry_run:
        records.write_index(papers.every())
    return 0


COMMANDS = {"list": _list, "run": _run, "merge": _merge, "status": _list}
