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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claimbook.cli import given_path, worker_count
from claimbook.errors import BookError


def main(arguments: list[str] | None = None) -> int:
    """Run one tool and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.function(options)
    except BookError as error:
        _complain(str(error))
        return error.code
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}")
        return 1
    except KeyboardInterrupt:
        logging.disable()  # asyncio reports the cell that was stopped
        _complain("stopped; the same command goes on from where it saved its state")
        return 130


def _parser() -> argparse.ArgumentParser:
    """Return the parser; its options have the ``function`` that runs the command."""
    parser = argparse.ArgumentParser("python -m book", description="Make the book.")
    commands = parser.add_subparsers(dest="command", required=True)

    def add(
        function: Callable[[argparse.Namespace], int], **texts: Any
    ) -> argparse.ArgumentParser:
        """Add a command that is called like its function, "execute" for `_execute`."""
        command = commands.add_parser(function.__name__[1:], **texts)
        command.set_defaults(function=function)
        return command

    command = add(_execute, help="execute pages (papermill)")
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
    command = add(_check, help="what is wrong with the pages")
    command.add_argument("--json", action="store_true", help="a list on stdout")
    command.add_argument("pages", nargs="*", help="pages, all by default")
    command = add(_measure, help="the code behind a row's value")
    command.add_argument("page")
    command.add_argument("row", help="its id in claims.yaml")
    about = "write the digests of measurements into measurements.yaml"
    command = add(_register, help=about)
    command.add_argument("pages", nargs="*", help="pages, all by default")
    about = "why every seed keeps its value, where a measurement was changed"
    command.add_argument("--same", metavar="REASON", default="", help=about)
    about = "the old test of a changed one stands in `was` of claims.yaml"
    command.add_argument("--was", action="store_true", help=about)
    command = add(_changed, help="pages with other numbers")
    command.add_argument("commit", help="the commit or tag to compare with")
    add(_order, help="what to train next, as commands")
    about = "tune and test your own remedy; its runs stay in data/reruns, and for the "
    about += "book's records a pull request brings the file"
    code = Path(__file__).with_name("own_remedy.py").read_text(encoding="utf-8")
    command = add(
        _race,
        help=about,
        # what a file may have, without importing PyTorch to say so
        description=ast.get_docstring(ast.parse(code)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "file", type=given_path, help="a Python file with one function"
    )
    about = "a (addition mod 59) or e (sparse parity), repeatable (default: both)"
    command.add_argument("--task", action="append", help=about)
    command.add_argument("--processes", type=worker_count, help="CPU workers, 0: none")
    command.add_argument("--dry-run", action="store_true", help="only say the cost")
    about = "some steps of each run, which judge nothing"
    command.add_argument("--smoke", action="store_true", help=about)
    add(_index, help="write the tables beside the records")
    return parser


# Each command imports what it needs: a call for help needs no PyTorch.


def _execute(options: argparse.Namespace) -> int:
    """Execute pages; print the notebooks, and how each rerun compares with the book."""
    from book._ext import pages, reruns

    parameters = dict(options.parameter) if options.parameter else None
    for path in pages.execute(options.pages, parameters, options.out):
        print(path)
        if parameters:
            print(*reruns.compare(path), sep="\n")
    return 0


def _complain(sentence: str) -> None:
    """Print on stderr, in one line, a sentence that says what is wrong."""
    print(f"book: {sentence}", file=sys.stderr, flush=True)


def _check(options: argparse.Namespace) -> int:
    """Print what is wrong with the pages; 1 if anything is."""
    from book._ext import checks

    problems = checks.check(options.pages or None)
    if options.json:
        print(json.dumps(problems))
    else:
        for problem in problems:
            _complain(problem)
    return 1 if problems else 0


def _measure(options: argparse.Namespace) -> int:
    """Print the code behind the value of a row, and its digest."""
    from book._ext import measures

    measurement = measures.find(options.page, options.row)
    functions = [f"# {name}" for name in measurement.functions]
    print(*measurement.code, "", *functions, sep="\n")
    print(f"# digest: {measurement.digest}")
    return 0


def _register(options: argparse.Namespace) -> int:
    """Write digests of measurements; print the rows and functions that changed."""
    from book._ext import measures, pages

    for page in options.pages:
        pages.find(page)
    names = options.pages or list(pages.sources())
    written = measures.register(names, options.same, exchanged=options.was)
    print(*written, sep="\n")
    return 0


def _changed(options: argparse.Namespace) -> int:
    """Print the pages whose numbers are others than at a commit."""
    from book._ext import checks

    print(*checks.pages_changed(options.commit), sep="\n")
    return 0


def _order(_: argparse.Namespace) -> int:
    """Print what to train next, as commands."""
    from book import order
    from book._ext import entries

    print(*order.lines(entries.entries()), sep="\n")
    return 0


def _race(options: argparse.Namespace) -> int:
    """Tune and test the remedy of a file."""
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
    """Write the tables beside the records."""
    from claimbook import papers, records

    records.write_index(papers.every())
    return 0


if __name__ == "__main__":
    sys.exit(main())
