"""Nothing is skipped in silence: the last line names each reason, and CI allows few."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import browser
import pytest

TESTS = Path(__file__).parent
SKIPPED = """
import pytest
from skips import skip_without

@pytest.mark.parametrize("part", range({browser}))
def test_of_a_page(part):
    skip_without("Chromium", remedy="sudo apt-get install chromium")

@pytest.mark.skipif({other}, reason="it is Sunday")
def test_of_another_kind():
    pass

def test_of_what_ci_has_not_got():
    if {allowed}:
        skip_without("Snakemake", remedy="make workflow")

@pytest.mark.xfail
def test_that_is_known_to_fail():
    assert False
"""
WRITES_NOT_TESTED = """
for word in "$@"; do
  case $word in --not-tested=*)
    mkdir -p _build
    echo "not tested: 1 test needs Chromium" > "${word#*=}"
  esac
done
"""
CHROMIUM = "need Chromium: sudo apt-get install chromium"


@pytest.fixture
def run(tmp_path):
    """Run a file of tests that skip; its exit code and the lines that it ends with."""

    def call(*options, ci="", browser=1, other=False, allowed=False):
        text = SKIPPED.format(browser=browser, other=other, allowed=allowed)
        (tmp_path / "test_skipped.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "skips", "-p", "xdist"]
        command += ["--not-tested=not_tested.txt", *options, "test_skipped.py"]
        environment = os.environ | {"CI": ci, "PYTHONPATH": str(TESTS)}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = (
            "1"  # no other: it starts at once
        )
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        written = (tmp_path / "not_tested.txt").read_text().splitlines()
        assert all(line in done.stdout for line in written), done.stdout + done.stderr
        return done.returncode, written

    return call


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_run_ends_with_the_reason_of_every_skip_and_its_number(run, workers):
    reasons = f"3 tests {CHROMIUM}; 1 test: it is Sunday; 1 test needs Snakemake: make"
    assert run(*workers, ci="true", browser=3, other=True, allowed=True) == (
        1,
        [
            f"not tested: {reasons} workflow",
            f"CI=true allows no such skip: 3 tests {CHROMIUM}; 1 test: it is Sunday",
        ],
    )


def test_ci_allows_what_its_list_names_and_nothing_skipped_is_no_line(run):
    assert run(browser=2) == (0, [f"not tested: 2 tests {CHROMIUM}"])
    deselected = "-k", "ci_has or known"
    assert run(*deselected, ci="true", allowed=True) == (
        0,
        ["not tested: 1 test needs Snakemake: make workflow"],
    )
    assert run(*deselected, ci="true") == (0, [])


def test_a_missing_browser_names_the_command_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    sentence = "^needs Chromium: sudo apt-get install chromium$"
    with pytest.raises(pytest.skip.Exception, match=sentence), browser.started():
        pass


@pytest.mark.parametrize("installed", [None, *browser.NAMES])
def test_ci_installs_a_browser_where_none_is_and_tests_as_ci(tmp_path, installed):
    log = tmp_path / "log"
    for name in ("apt-get", "git", "make", *filter(None, [installed])):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $* $CI" >> {log}\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    for name in ("dirname", "id"):
        (tmp_path / name).symlink_to(shutil.which(name))
    subprocess.run([TESTS.parent / ".ci" / "run"], env={"PATH": str(tmp_path)})
    called = log.read_text().splitlines()
    assert called[-1] == "make test true"
    installs = [line for line in called if line.startswith("apt-get install")]
    assert len(installs) == (installed is None)
    assert all(" chromium fonts-" in line for line in installs)


def test_the_last_lines_of_make_say_what_was_not_tested_and_what_failed(tmp_path):
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    stubs = {"ruff": "exit 1", "mypy": "exit 2", "python": WRITES_NOT_TESTED}
    for name, script in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    shutil.copy(TESTS.parent / "Makefile", tmp_path)
    command = ["make", "-s", "-C", tmp_path, "test", "BIN=.", "READY=python"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "not tested: 1 test needs Chromium"
    assert done.stderr.startswith("failed: ./ruff check .\nfailed: ./mypy\n")
    for name in stubs:
        (tmp_path / name).write_text("#!/bin/sh\n")
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not tested" not in done.stdout
