"""What every test starts from: one thread, as in a worker process, since two sum in
another order; and for who asks for them the data files of the tiny tasks, the rendered
book, and a browser."""

import fcntl
import subprocess
import sys
from pathlib import Path

import browser
import pytest
import torch
from helpers import tiny_cifar, tiny_corpus, tiny_images, tiny_mnist
from skips import (  # noqa: F401  (hooks of pytest)
    pytest_addoption,
    pytest_sessionfinish,
    pytest_terminal_summary,
)

from claimbook import change, project

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def tiny_data(tmp_path_factory):
    """A data folder with a few images and sentences of every public data set."""
    folder = tmp_path_factory.mktemp("downloads")
    with pytest.MonkeyPatch.context() as patch:
        tiny_mnist(folder, patch, images=300)
        tiny_cifar(folder, patch, images=6)
        tiny_corpus(folder, patch)
        tiny_images(folder, patch, name="imagenet-100", size=(256, 256))
        yield


@pytest.fixture(autouse=True)
def _no_rerun(monkeypatch):
    """A page that one test trains anew makes no rerun of the next test's."""
    monkeypatch.setattr(project, "is_retrained", False)
    monkeypatch.setattr(change, "in_use", None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def chromium():
    """A browser without a network, or a skip that says how to install one."""
    with browser.started() as found:
        yield found


@pytest.fixture(scope="session")
def built(testrun_uid):
    """The rendered book: one of several workers builds it for all, if it is old.

    A later worker of the same run never builds, while others look at its pages.
    """
    sources = [ROOT / "_config.yml", ROOT / "_toc.yml"]
    sources += [p for p in (ROOT / "book").rglob("*") if p.suffix != ".pyc"]
    generated = {ROOT / "book" / "generated"}
    newest = max(p.stat().st_mtime for p in sources if not generated & {p, *p.parents})
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build" / ".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        made = HTML / "objects.inv"  # every build writes it
        is_done = lock.read() == testrun_uid
        if not (is_done or (made.is_file() and made.stat().st_mtime >= newest)):
            build = [Path(sys.executable).parent / "jupyter-book", "build", "."]
            build += ["-W", "--keep-going"]
            run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
            assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
        lock.truncate(0)
        lock.write(testrun_uid)
