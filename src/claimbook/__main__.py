# PYTHON_ARGCOMPLETE_OK
"""``python -m claimbook`` is the command ``grokbook``; early ends are quiet as well."""

import signal
import sys


def main() -> int:
    """The command, for which SIGTERM is a Ctrl-C; its exit code."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from claimbook import cli
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        told = f"{error.name} is not installed: pip install 'grokking-book[records]'"
        return print(f"grokbook: {told}", file=sys.stderr) or 1
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
