"""Where the book lies, and sentences for names that do not exist."""

import http.server
import shutil
import subprocess
import threading
from functools import partial
from pathlib import Path

import pytest

import grokbook
from grokbook import project
from grokbook.errors import GrokbookError, UnknownName, choose

ROOT = Path(__file__).parents[1]


def test_home_is_the_checkout(monkeypatch, tmp_path):
    for name in ("GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)  # the package's own checkout, wherever one stands
    assert project.home() == ROOT
    assert project.records_folder() == ROOT / "data" / "records"
    assert project.data_folder() == ROOT / "data" / "downloads"
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    assert project.records_folder() == tmp_path / "data" / "records"
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path / "mine"))
    assert project.records_folder() == tmp_path / "mine"
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(GrokbookError, match="nowhere is no checkout of the book"):
        project.home()


def test_outside_of_a_checkout_the_site_has_the_records(monkeypatch, tmp_path):
    made = tmp_path / "made" / "grokbook"
    (made / "data" / "records").mkdir(parents=True)
    (made / "data" / "claims.json").write_text('[{"page": "a", "n": 3}]')
    shutil.make_archive(tmp_path / "downloads" / "grokbook", "zip", made.parent)
    monkeypatch.delenv("GROKBOOK_HOME", raising=False)
    monkeypatch.setattr(project, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(made)
    with pytest.raises(GrokbookError, match="in no checkout of the book: set GROKBOOK"):
        project.home()
    project._fetched.cache_clear()
    files = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.HTTPServer(("127.0.0.1", 0), files) as server:
        site = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("GROKBOOK_SITE", f"{site}/other")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(GrokbookError, match="grokbook.zip cannot be fetched.*404"):
            project.home()
        monkeypatch.setenv("GROKBOOK_SITE", site)
        assert grokbook.verdicts().to_dict("records") == [{"page": "a", "n": 3}]
        server.shutdown()
    (made / "book").mkdir()
    assert project.home() == made  # found around the working directory


def test_the_commit_is_the_one_that_training_began_with(tmp_path, monkeypatch):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        words = ("git", "-C", str(tmp_path), *identity, *words)
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def asked_anew():
        project.commit.cache_clear()
        return project.commit()

    monkeypatch.delenv("GROKBOOK_COMMIT", raising=False)
    for home in (tmp_path, tmp_path / "nowhere"):
        monkeypatch.setenv("GROKBOOK_HOME", str(home))
        assert asked_anew() == "unknown"
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    code = tmp_path / "src" / "code.py"
    code.parent.mkdir()
    code.write_text("1")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    first = git("rev-parse", "--short=10", "HEAD").strip()
    assert asked_anew() == first
    code.write_text("2")
    assert project.commit() == first
    assert asked_anew() == first + "+"
    monkeypatch.setenv("GROKBOOK_COMMIT", "0123456789")
    assert asked_anew() == "0123456789"  # where another git encloses a copy
    project.commit.cache_clear()


def test_a_choice_names_what_is_near():
    known = {"softmax": 1, "stablemax": 2, "taylor": 3}
    assert choose("loss", "taylor", known) == 3
    assert choose("loss", "taylor", list(known)) == "taylor"
    words = "unknown loss 'stabelmax': use one of stablemax"
    with pytest.raises(UnknownName, match=words) as caught:
        choose("loss", "stabelmax", known)
    assert isinstance(caught.value, ValueError) and caught.value.code == 2
    with pytest.raises(UnknownName, match="unknown loss 3"):
        choose("loss", 3, known)
