# PYTHON_ARGCOMPLETE_OK
"""``python -m claimbook`` is the command ``grokbook``.

An interrupt while modules are still being imported ends it without a traceback too.
"""

import signal

from claimbook import errors


def main() -> int:
    """Run the command, with SIGTERM treated as Ctrl-C, and return its exit code.

    It is that of `cli.main`; before that is imported, 130 for Ctrl-C, and 1, with a
    sentence, if a package is missing.
    """
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with errors.needing_extra():
            from claimbook import cli
    except KeyboardInterrupt:
        return 130
    except errors.NotInstalled as error:
        errors.complain(str(error))
        return error.code
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
