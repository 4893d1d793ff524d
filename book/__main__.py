"""The tools of the book's pages: ``python -m book`` in a checkout.

    execute PAGE ...   run pages; with -p NAME VALUE as a rerun beside the book
    check [PAGE ...]   pairs in step, all executed, records fresh
    measure PAGE ROW   the code behind the value of one row
    register PAGE ...  write the digests of measurements into measurements.yaml
    changed COMMIT     pages whose numbers are others than at a commit, as v0.1.0
    order              what to train next, most judged rows per core-hour first
    index              write the tables beside the records, after experiments changed

Exit codes: 0 done, 1 something is wrong (one sentence on stderr says what), 2 the call
itself is wrong.
"""

import argparse
import ast
import json
import logging
import sys
from pathlib import Path

from claimbook.cli import given_path, worker_count
from claimbook.errors import BookError


def main(arguments: list[str] | None = None) -> int:
    """Run one tool and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.function(options)
    except BookError as error:
        _tell(f"book: {error}")
        return error.code
    except OSError as error:
        _tell(f"book: {error.filename}: {error.strerror}")
        return 1
    except KeyboardInterrupt:
        logging.disable()  # asyncio reports the cell that was stopped
        _tell("book: stopped; the same command goes on from where it saved its state")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m book", description="Make the book.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("execute", help="execute pages (papermill)")
    command.set_defaults(function=_execute)
    command.add_argument("pages", nargs="+", help="pages, as in prieto2025/fig02")
    command.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        metavar=("NAME", "VALUE"),
        help="a parameter of the page; the result is a rerun beside the book",
    )
    command.add_argument("--out", type=given_path, help="folder to write a rerun to")
    command = commands.add_parser("check", help="what is wrong with the pages")
    command.add_argument("--json", action="store_true", help="a list on stdout")
    command.set_defaults(function=_check)
    command.add_argument("pages", nargs="*", help="pages, all by default")
    command = commands.add_parser("measure", help="the code behind a row's value")
    command.set_defaults(function=_measure)
    command.add_argument("page")
    command.add_argument("row", help="its id in claims.yaml")
    about = "write the digests of measurements into measurements.yaml"
    command = commands.add_parser("register", help=about)
    command.set_defaults(function=_register)
    command.add_argument("pages", nargs="*", help="pages, all by default")
    about = "why every seed keeps its value, where a measurement was changed"
    command.add_argument("--same", metavar="REASON", default="", help=about)
    about = "the old test of a changed one stands in `was` of claims.yaml"
    command.add_argument("--was", action="store_true", help=about)
    command = commands.add_parser("changed", help="pages with other numbers")
    command.set_defaults(function=_changed)
    command.add_argument("commit", help="the commit or tag to compare with")
    command = commands.add_parser("order", help="what to train next, as commands")
    command.set_defaults(function=_order)
    about = "tune and test your own remedy; its runs stay in data/reruns, and for the "
    about += "book's records a pull request brings the file"
    code = Path(__file__).with_name("own_remedy.py").read_text(encoding="utf-8")
    command = commands.add_parser(
        "race",
        help=about,
        # what a file may have, without importing PyTorch to say so
        description=ast.get_docstring(ast.parse(code)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(function=_race)
    command.add_argument(
        "file", type=given_path, help="a Python file with one function"
    )
    about = "a (addition mod 59) or e (sparse parity), repeatable (default: both)"
    command.add_argument("--task", action="append", help=about)
    command.add_argument("--processes", type=worker_count, help="CPU workers, 0: none")
    command.add_argument("--dry-run", action="store_true", help="only say the cost")
    about = "some steps of each run, which find nothing"
    command.add_argument("--smoke", action="store_true", help=about)
    command = commands.add_parser("index", help="write the tables beside the records")
    command.set_defaults(function=_index)
    return parser


def _execute(options: argparse.Namespace) -> int:
    from book._ext import pages, reruns

    parameters = dict(options.parameter) if options.parameter else None
    for path in pages.execute(options.pages, parameters, options.out):
        print(path)
        if parameters:
            print(*reruns.compare(path), sep="\n")
    return 0


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _check(options: argparse.Namespace) -> int:
    from book._ext import checks

    problems = checks.check(options.pages or None)
    if options.json:
        print(json.dumps(problems))
    for problem in () if options.json else problems:
        _tell(f"book: {problem}")
    return 1 if problems else 0


def _measure(options: argparse.Namespace) -> int:
    from book._ext import measures

    found = measures.find(options.page, options.row)
    print(*found.code, "", *(f"# {name}" for name in found.functions), sep="\n")
    print(f"# digest: {found.digest}")
    return 0


def _register(options: argparse.Namespace) -> int:
    from book._ext import measures, pages

    for page in options.pages:
        pages.find(page)
    names = options.pages or list(pages.sources())
    written = measures.register(names, options.same, exchanged=options.was)
    print(*written, sep="\n")
    return 0


def _changed(options: argparse.Namespace) -> int:
    from book._ext import checks

    print(*checks.pages_changed(options.commit), sep="\n")
    return 0


def _order(_: argparse.Namespace) -> int:
    from book import order
    from book._ext import entries

    print(*order.lines(entries.entries()), sep="\n")
    return 0


def _race(options: argparse.Namespace) -> int:
    from book import own_remedy

    own_remedy.race(
        options.file,
        options.task or own_remedy.TASKS,
        is_smoke=options.smoke,
        is_dry_run=options.dry_run,
        processes=options.processes,
    )
    return 0


def _index(_: argparse.Namespace) -> int:
    from claimbook import papers, records

    records.write_index(papers.every())
    return 0


if __name__ == "__main__":
    sys.exit(main())
