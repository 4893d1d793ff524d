# PYTHON_ARGCOMPLETE_OK
"""``python -m claimbook`` is the command ``grokbook``.

An interrupt while modules are still being imported ends it without a traceback too.
"""

import signal
import sys


def main() -> int:
    """Run the command, with SIGTERM treated as Ctrl-C, and return its exit code."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from claimbook import cli
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        remedy = "pip install 'grokking-book[records]'"
        print(f"grokbook: {error.name} is not installed: {remedy}", file=sys.stderr)
        return 1
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
