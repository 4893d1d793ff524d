"""Nothing is skipped in silence: hooks of pytest, which conftest.py takes up.

A run ends with the reason of every skip and its number of tests. With ``CI=true`` only
the reasons of `ALLOWED_IN_CI` may skip a test; any other one fails the run.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

# Beginnings of reasons that `skip_without` makes, each with why CI may lack it.
ALLOWED_IN_CI = (
    "needs the processor and PyTorch of golden.json",  # CI has what its host gives it
    "needs AVX2 without AVX-512",  # so too, and the records are read there all the same
    "needs the file gpt2/encoder.json",  # tests fetch nothing over the network
    "needs Snakemake",  # a job of its own, `make workflow-test`
)


def skip_without(what: str, *, remedy: str) -> None:
    """Skip a test that needs something, and say how to get it."""
    pytest.skip(f"needs {what}: {remedy}")


def pytest_addoption(parser):
    parser.addoption(
        "--not-tested",
        metavar="FILE",
        type=Path,
        help="where to write what was skipped: the last line of `make test`",
    )


def pytest_sessionfinish(session):
    """Fail a run of CI that skipped what it has to test."""
    refused = refused_in_ci(skipped_tests(session.config))
    if refused and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    """Say what was not tested, here and in the file of ``--not-tested``."""
    reasons = skipped_tests(config)
    lines = []
    if reasons:
        lines.append(f"not tested: {counted(reasons)}")
    if refused := refused_in_ci(reasons):
        lines.append(f"CI=true allows no such skip: {counted(refused)}")
    for line in lines:
        terminalreporter.write_line(line)
    if path := config.getoption("--not-tested"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def skipped_tests(config) -> list[str]:
    """The reason of every skip of this run, one for each test.

    A worker of pytest-xdist has none: its reports are those of the process that leads.
    """
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:
        return []
    reports = terminal.stats.get("skipped", [])
    return [report.longrepr[2].removeprefix("Skipped: ") for report in reports]


def refused_in_ci(reasons: list[str]) -> list[str]:
    """Those reasons that may not skip a test here; none where this is not CI."""
    if os.environ.get("CI") != "true":
        return []
    return [reason for reason in reasons if not reason.startswith(ALLOWED_IN_CI)]


def counted(reasons: list[str]) -> str:
    """How many tests have each reason, most frequent first.

    "128 tests need Chromium: sudo apt-get install chromium; 1 test needs ...". A reason
    that `skip_without` did not make follows a colon.
    """
    parts = []
    # sorted first, as reasons of the same count come in the order of busy workers
    for reason, count in Counter(sorted(reasons)).most_common():
        tests = "1 test" if count == 1 else f"{count} tests"
        if reason.startswith("needs "):
            verb = "needs" if count == 1 else "need"
            parts.append(f"{tests} {verb} {reason.removeprefix('needs ')}")
        else:
            parts.append(f"{tests}: {reason}")
    return "; ".join(parts)
