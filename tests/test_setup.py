"""Set-up files and README say the same, code runs; where the book lies; its errors."""

import http.server
import importlib
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
import tomllib
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
import recorded
import torch
import yaml
from helpers import arm, experiment
from jupyter_book.config import get_final_config
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import claimbook.__main__
import grokbook
from book._ext import downloads
from claimbook import archive, cli, names, papers, project, records
from claimbook.errors import BookError, NoRecord, NotInstalled, UnknownName, choose
from claimbook.experiment import Spec

ROOT = Path(__file__).parents[1]
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GROUPS = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
LINES = [line for group in GROUPS for line in group]
WANTED = [Requirement(line) for line in LINES if not line.startswith("grokking-book[")]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_lock_satisfies_pyproject_is_closed_and_installed_with_the_tools():
    """Lines are exact pins, and what the locked packages need here is locked too."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    locked = {canonicalize_name(n): v for n, v in (pin.split("==") for pin in pins)}
    for wanted in WANTED:
        name = canonicalize_name(wanted.name)
        assert wanted.specifier.contains(locked[name]), wanted
    assert {name: version(name).split("+")[0] for name in locked} == locked
    every = (line for name in locked for line in distribution(name).requires or [])
    needs, here = map(Requirement, every), {"extra": ""}
    needs = [n for n in needs if not n.marker or n.marker.evaluate(here)]
    floating = {canonicalize_name(need.name) for need in needs}
    # Accelerator libraries are pinned by torch itself, where a platform has them.
    floating = {n for n in floating if not n.startswith(("nvidia-", "cuda-", "triton"))}
    assert floating <= {*locked, "pip"}
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", (ROOT / "Makefile").read_text()))
    assert {"python", "ruff", "jupyter-book"} <= tools
    assert [t for t in tools if not (Path(sys.executable).parent / t).exists()] == []


def test_plain_sphinx_has_the_settings_of_jupyter_book():
    """But for extensions that the book does not use, and the defaults of others."""
    plain = runpy.run_path(ROOT / "book" / "conf.py")
    how = {"validate": False, "cli_config": {"latex_individualpages": False}}
    wrapped, _ = get_final_config(user_yaml=ROOT / "_config.yml", **how)
    parts = {"extensions", "exclude_patterns"}
    assert all({*plain[key]} <= {*wrapped[key]} for key in parts)
    theme = "html_theme_options"
    assert plain[theme].items() <= wrapped[theme].items()
    same = wrapped.keys() & plain.keys() - {*parts, theme}
    assert len(same) > 25
    assert {key: plain[key] for key in same} == {key: wrapped[key] for key in same}
    pins = (ROOT / "requirements-sphinx.txt").read_text().splitlines()[2:]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert not {*pins} & {*(ROOT / "requirements.txt").read_text().splitlines()}


def test_packages_tell_their_types_and_the_source_archive_has_what_its_tests_import():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for name, files in told["package-data"].items():
        assert all((ROOT / "src" / name / file).is_file() for file in files)
        assert "py.typed" in files
    lines = (ROOT / "MANIFEST.in").read_text().splitlines()
    named = {n for line in lines if line[:8] == "include " for n in line.split()[1:]}
    assert all([*ROOT.glob(name)] for name in named)
    of_tests = {path.stem for path in ROOT.glob("tests/*.py")}
    for path in (ROOT / name for name in named if name.startswith("tests/")):
        words = re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.M)
        imported = {f"tests/{word}.py" for word in of_tests.intersection(words)}
        assert imported <= named and "book" not in words, path.name


def test_the_form_for_a_verdict_is_the_table_of_contributing():
    (table,) = re.findall(
        r"^\| What is wrong.*?\n\n", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S
    )
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:-1]]
    forms = {p.stem: yaml.safe_load(p.read_text()) for p in FORMS.glob("*.yml")}
    parts = {part["id"]: part["attributes"] for part in forms["verdict"]["body"]}
    assert parts["kind"]["options"] == [kind for kind, _ in rows]
    asked = dict(
        re.findall(r"^\* (.+?): (.+)$", parts["evidence"]["description"], re.M)
    )
    assert asked == {kind.partition(":")[0]: what for kind, what in rows}
    assert all(form["body"] for name, form in forms.items() if name != "config")


def test_an_old_python_gives_one_sentence(tmp_path):
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    command = ["make", "-C", str(tmp_path), "book", f"PYTHON={old}"]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode != 0
    assert "needs Python 3.11 or newer" in made.stderr.splitlines()[0]
    assert not (tmp_path / ".venv").exists()
    active = [*command[:4], "--dry-run", "VIRTUAL_ENV=/mine"]  # which is used instead
    told = subprocess.check_output(active, text=True)
    assert "/mine/bin/python -m pip" in told and ".venv" not in told


def test_the_name_of_a_page_is_a_word_whatever_it_holds(tmp_path):
    (python := tmp_path / "python").write_text('#!/bin/sh\necho "$4"\n')
    python.chmod(0o755)
    name = (
        f"a'b$c `touch {tmp_path}/X` ; touch {tmp_path}/X $(shell touch {tmp_path}/X)"
    )
    words = ["make", "-s", "-C", ROOT, "page", f"PAGE={name}", f"BIN={tmp_path}"]
    made = subprocess.check_output([*words, f"READY={python}"], text=True)
    assert made.splitlines()[-1] == name and not (tmp_path / "X").exists()


def test_the_training_loop_runs_and_learns():
    code, _, _ = re.findall(r"^```python\n(.*?)^```", TEXT, re.S | re.M)
    assert "__main__" not in code
    torch.manual_seed(0)
    found = {}
    exec(compile(code, "README.md", "exec"), found)
    assert found["loss"].dtype == torch.float64
    assert float(found["loss"].detach()) < 1.0  # it starts near log 3 = 1.1


def test_tasks_of_ones_own_train(tmp_path, monkeypatch):
    _, code, _ = re.findall(r"^```python\n(.*?)^```", TEXT, re.S | re.M)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), found := {})
    assert len([*tmp_path.glob("my_records/mine/*.parquet")]) == 3
    for trained in found["arms"]:
        loss = found["record"].series(trained.name, "train_loss")
        assert loss.iloc[-1, 0] < loss.iloc[0, 0]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of what trains a paper, in a git of its own."""
    (paper := tmp_path / "book" / "prieto2025").mkdir(parents=True)
    for name in ("project.yaml", "defaults.json", "keys.json", "prieto2025"):
        source = ROOT / "book" / name
        source = source / "experiments.py" if source.is_dir() else source
        shutil.copy2(source, paper if name == "prieto2025" else paper.parent)
    for name in ("GROKBOOK_COMMIT", "GROKBOOK_RECORDS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for word in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{word}_NAME", "a")
        monkeypatch.setenv(f"GIT_{word}_EMAIL", "a@b")
    for words in ("init -q", "add .", "commit -qm first"):
        subprocess.run(["git", *words.split()], check=True)
    for cached in (project.commit, papers.registries):
        cached.cache_clear()
    yield paper / "experiments.py"
    for cached in (project.commit, papers.registries):
        cached.cache_clear()


def test_the_new_figure_is_added_as_written(checkout, monkeypatch, capsys):
    """Its experiment, then the commands in their order, at smoke scale."""
    code, claim = re.findall(r"^   ```python\n(.*?)^   ```", TEXT, re.S | re.M)
    compile(textwrap.dedent(claim), "README.md", "exec")
    written = checkout.read_text()
    checkout.write_text(f"{written}\n\n{textwrap.dedent(code)}")
    (steps,) = re.findall(r"^   ```sh\n(.*?)^   ```", TEXT, re.S | re.M)
    steps = steps.replace("<paper>", "prieto2025").replace("<id>", "fig99")
    tried, commit, *recorded = map(shlex.split, steps.splitlines())
    monkeypatch.setattr(
        papers, "every", lambda: [papers.get("prieto2025/fig99", "smoke")]
    )

    def grokbook(*words):
        project.commit.cache_clear()  # each command is a process of its own
        words = ["smoke" if one in ("laptop", "paper") else one for one in words]
        return cli.main([*words, "--processes", "0", "--seeds", "0"])

    assert tried[0] == recorded[0][0] == "grokbook" and len(recorded) == 2
    assert grokbook(*tried[1:]) == 0
    assert grokbook(*recorded[0][1:]) == 1  # before the commit
    assert "commit the changes in src and book/*/exp" in capsys.readouterr().err
    subprocess.run(commit, check=True, stdout=subprocess.PIPE)
    assert [grokbook(*words[1:]) for words in recorded] == [0, 0]
    record = papers.record("prieto2025/fig99", find=papers.recorded)
    assert record.frame["preconditioned_sharpness"].gt(0).any()
    losses = [record.trace(one.name)[0].tolist() for one in record.experiment.arms]
    assert losses[0] != losses[1] and len(losses[0]) == record.experiment.arms[0].epochs


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def (", r"experiments.py cannot be run \(SyntaxError: .*line 1"),
        ("\n1 / 0", r"experiments.py, line 2, cannot be run \(ZeroDivisionError: "),
        ("raise SystemExit", r"experiments.py, line 1, cannot be run \(SystemExit:\)"),
    ],
)
def test_an_experiments_file_that_cannot_be_run_is_one_sentence(checkout, text, told):
    checkout.write_text(text)
    with pytest.raises(BookError, match=told) as error:
        papers.names()
    assert "\n" not in str(error.value)


def test_links_and_pictures_exist_and_commands_parse():
    links = [link for link in re.findall(r"\]\((.+?)\)", TEXT) if "://" not in link]
    assert len(links) >= 4
    assert [link for link in links if not (ROOT / link).exists()] == []
    for path in ROOT.glob(".github/workflows/*.yml"):
        text = path.read_text()
        assert all((ROOT / one).exists() for one in re.findall(r"tests/\w+\.py", text))
        used = re.findall(r"uses: (?!\./)(\S+)", text)  # by commit, as a tag can move
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in used), path
    lines = re.findall(r"\.venv/bin/grokbook (.+)", TEXT)
    assert len(lines) > 3
    for line in lines:
        options = cli._parser().parse_args(shlex.split(line, comments=True))
        for name in getattr(options, "names", []):
            assert papers.names(name), line


def test_home_is_the_checkout(monkeypatch, tmp_path):
    for name in ("GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA"):
        monkeypatch.delenv(name, raising=False)
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)  # the package's own checkout, wherever one stands
    gone.rmdir()
    assert project.home() == ROOT
    assert project.records_folder() == ROOT / "data" / "records"
    assert project.data_folder() == ROOT / "data" / "downloads"
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    assert project.records_folder() == tmp_path / "data" / "records"
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path / "mine"))
    assert project.records_folder() == tmp_path / "mine"
    (tmp_path / "file").touch()
    for name in ("nowhere", "file"):
        monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path / name))
        with pytest.raises(BookError, match=f"{name} is not a checkout of the book"):
            project.home()


def test_a_mapping_that_merges_may_be_merged_at_another_depth():
    text = "p: {a: &a {<<: {x: 0}, x: 1}}\nc: {<<: *a, y: 2}"
    assert project.parse_yaml(text)["c"] == {"x": 1, "y": 2}


def test_what_project_yaml_lacks_or_has_too_much_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    assert project.part("papers") == {}  # a folder of records alone
    for name, text, words in (
        ("missing", "", "project.yaml is missing"),
        ("broken", "papers: [", "is not YAML"),
        ("no date", "papers: {day: 2026-13-01}", "is not YAML: month must be in 1..12"),
        ("bytes", b"\xff", "is not in UTF-8"),
        ("merged", "a: 1\n<<<<<<< HEAD\n", "line 2, is of a conflict in git"),
        ("twice", "a: 1\na: 2", "line 2 has the key 'a' of line 1 once more: leave"),
        ("cut", "papers: {}\nmod", "is not YAML"),
        ("cut between lines", "papers: {}\n", "does not end with a line of three"),
        ("number", "5", "project.yaml is 5: write names with values"),
        ("word", "ranges: {lr: [0, inf]}", "ranges, lr, 2 is 'inf': write a number"),
        ("one", "ranges: {lr: [0]}", r"lr is \[0\]: write as many values as it needs"),
        ("none", "smoke: {p: 0}", "smoke, p is 0: write a whole number from 1"),
        ("truth", "smoke: {p: true}", "smoke, p is True: write a whole number"),
        ("nan", "ranges: {lr: [0, .nan]}", "ranges, lr, 2 is nan: write a number"),
        ("null", "settings:", "settings is None: write names with values"),
        ("year", "papers: {a: 2025}", "papers, a is 2025: write text, in quotes"),
        ("misspelt", "paper: {}", "unknown key in .*project.yaml 'paper'.* papers"),
    ):
        book = tmp_path / name / "book"
        (book / "prieto2025").mkdir(parents=True)
        (book / "prieto2025" / "experiments.py").touch()
        if text:
            content = text if isinstance(text, bytes) else text.encode()
            (book / "project.yaml").write_bytes(content)
        monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path / name))
        with pytest.raises(BookError, match=words):
            project.part("papers")
    (tmp_path / "least" / "book").mkdir(parents=True)
    (tmp_path / "least" / "book" / "project.yaml").write_text("smoke: {p: 1}")
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path / "least"))
    assert project.part("smoke") == {"p": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "modules: {loss: no_such_module}",
            "each loss in no_such_module, which is missing",
        ),
        (
            "modules: {model: grokbook.models}",
            "unknown kind of name 'loss': use one of m",
        ),
        ("papers: {}", "`modules` of book/project.yaml do not say in which modules"),
    ],
)
def test_where_names_are_looked_up_is_told_if_it_is_wrong(
    monkeypatch, tmp_path, text, words
):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "project.yaml").write_text(text)
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    with pytest.raises(BookError, match=words):
        names.resolve("loss", Spec("softmax_cross_entropy"))


@pytest.fixture
def outside(monkeypatch, tmp_path):
    """A folder outside of every checkout, from which an installed package is used."""
    for name in ("GROKBOOK_HOME", "GROKBOOK_SITE", "GROKBOOK_RECORDS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(project, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    project._home.cache_clear()
    yield tmp_path
    project._home.cache_clear()


RUNS = "from pathlib import Path; Path({!r}).touch()\n"  # code that leaves a trace


def test_a_book_has_the_keys_of_its_own_tables(outside, monkeypatch):
    """Whichever book this process read before."""
    one = experiment(arm("a", log=10), seeds=(0,))
    for book, has_tables in (("ours", True), ("hers", False)):
        (outside / book / "book").mkdir(parents=True)
        settings = "settings: {defaults: defaults.json}" if has_tables else ""
        (outside / book / "book" / "project.yaml").write_text(settings or "folders: []")
        defaults = '{"filled": {"model/mlp": {"colour": "red"}}}'
        (outside / book / "book" / "defaults.json").write_text(defaults)
        monkeypatch.setenv("GROKBOOK_HOME", str(outside / book))
        records.add(one, recorded.result(replace(one.arms[0]), 0))  # has no key yet
    keys = set()
    for book in ("ours", "hers"):
        monkeypatch.setenv("GROKBOOK_HOME", str(outside / book))
        (member,) = (outside / book).rglob("*.parquet")
        assert len(records.member.table(member)[0]) == 4
        keys.add(member.name)
    assert len(keys) == 2


def book_with_code(root):
    """A book of one recorded experiment whose experiments.py tells that it was run."""
    one = replace(experiment(arm("a", log=10), seeds=(0,)), name="hers/fig01")
    (root / "book" / "hers").mkdir(parents=True)
    code = root / "book" / "hers" / "experiments.py"
    code.write_text(RUNS.format(str(root.parent / "ran")))
    (root / "book" / "project.yaml").write_text("folders: [hers]\n...")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GROKBOOK_HOME", str(root))
        records.add(one, recorded.result(one.arms[0], 0))
        records.write_index([one])
    (root / "data" / "claims.json").write_text('[{"page": "a", "n": 3}]')
    return root


def test_reading_records_runs_no_code_of_the_folder_that_has_them(outside, monkeypatch):
    """Of a checkout of the user's own; one of another user's is not even read."""
    book_with_code(outside / "plain")
    (deep := outside / "plain" / "deep").mkdir()
    monkeypatch.chdir(deep)
    project._home.cache_clear()
    assert len(grokbook.record("hers/fig01")) == 4
    assert len(grokbook.members()) == 1
    assert grokbook.verdicts().n.tolist() == [3]
    with pytest.raises(
        UnknownName, match="recorded experiment 'hers/fig1': use one of"
    ):
        grokbook.record("hers/fig1")
    with pytest.raises(NoRecord, match="hers/fig01 has no record at laptop scale"):
        grokbook.record("hers/fig01", scale="laptop")
    assert not (outside / "ran").exists()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    project._home.cache_clear()
    with pytest.raises(BookError, match="no checkout of the book that is yours: set"):
        grokbook.record("hers/fig01")
    monkeypatch.setattr(os, "getuid", lambda: mine)
    (outside / "plain" / "book" / "project.yaml").unlink()  # two folders of such names
    with pytest.raises(BookError, match="no checkout of the book that is yours: set"):
        grokbook.members()


@contextmanager
def served(answers):
    """A server of this machine; yields its address and the paths that were asked for.

    ``answers`` has the content by path, or a function that writes to the connection.
    """
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            answer = answers.get(self.path, b"")
            self.send_response(200 if self.path in answers else 404)
            self.end_headers()
            if callable(answer):
                answer(self.wfile)
            else:
                self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


ZIP = "/downloads/grokbook.zip"


@pytest.fixture
def edition(tmp_path):
    """The archive of a site as bytes, with code in it, and its digest."""
    book_with_code(tmp_path / "made" / "grokbook")
    path = shutil.make_archive(tmp_path / "grokbook", "zip", tmp_path / "made")
    content = Path(path).read_bytes()
    return content, sha256(content).hexdigest()


def test_outside_of_a_checkout_the_site_has_the_records(outside, edition, monkeypatch):
    """Fetched once for each edition; none of its code runs, or is even kept."""
    content, digest = edition
    with pytest.raises(BookError, match="in no checkout of the book that is yours"):
        project.home()
    with served({ZIP: content}) as (site, asked):
        monkeypatch.setenv("GROKBOOK_SITE", f"{site}/#sha256={digest}")
        for _ in range(2):
            project._home.cache_clear()  # a process asks once
            assert grokbook.verdicts().to_dict("records") == [{"page": "a", "n": 3}]
            assert len(grokbook.record("hers/fig01")) == 4
        assert asked == [ZIP]
        with pytest.raises(BookError, match="can be read and nothing be trained: set"):
            papers.registries.__wrapped__()
        kept = [path.name for path in (outside / "cache").rglob("*")]
        assert "index.csv" in kept and not [name for name in kept if ".py" in name]
        assert not (outside / "made" / "ran").exists()
        assert downloads.published()[0] == site  # the digest is none of the address


def test_two_processes_may_fetch_a_site_at_once(outside, edition, monkeypatch):
    content, digest = edition
    folder = outside / "cache"
    unpack = archive._unpack_data

    def unpack_in_both(content, into):
        unpack(content, into)
        if not list(folder.rglob(digest)):  # the other process comes first
            shutil.copytree(into, into.parent.parent / digest)

    monkeypatch.setattr(archive, "_unpack_data", unpack_in_both)
    with served({ZIP: content}) as (site, _):
        monkeypatch.setenv("GROKBOOK_SITE", f"{site}/#sha256={digest}")
        assert len(grokbook.members()) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda content: content[:-100], "what came, .* bytes, is not of the SHA-256"),
        (None, "404"),
        (lambda content: lambda file: [file.write(b"x"), sleep(1)], "timed out"),
    ],
    ids=["cut", "absent", "silent"],
)
def test_what_came_otherwise_stays_nowhere(
    outside, edition, monkeypatch, answer, words
):
    content, digest = edition
    monkeypatch.setattr(archive, "PATIENCE", 0.2)
    answers = {ZIP: answer(content)} if answer else {}
    with served(answers) as (site, _):
        monkeypatch.setenv("GROKBOOK_SITE", f"{site}#sha256={digest}")
        with pytest.raises(BookError, match=rf"{ZIP} cannot be fetched \(.*{words}"):
            project.home()
        assert not [path for path in (outside / "cache").rglob("*") if path.is_file()]
        answers[ZIP] = content
        assert len(grokbook.members()) == 1


def sleep(seconds):
    threading.Event().wait(seconds)


@pytest.mark.parametrize("site", ["http://127.0.0.1:9", "https://a.example#sha256=12"])
def test_a_site_without_a_digest_is_asked_for_nothing(outside, monkeypatch, site):
    monkeypatch.setenv("GROKBOOK_SITE", site)
    with pytest.raises(BookError, match="names no archive: write https://…#sha256=…"):
        project.home()


def test_a_missing_package_is_told_by_the_functions_as_by_the_command(
    monkeypatch, capsys
):
    """One sentence: what is missing, and the extra that has it."""
    words = "pyarrow is not installed: pip install 'grokking-book[records]'"
    for name in [name for name in sys.modules if name.startswith("claimbook.records")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("claimbook.papers", "claimbook.cli"):
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(claimbook, name.partition(".")[2])
    monkeypatch.delattr(claimbook, "records")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError) as caught:
        grokbook.record("prieto2025/fig02")
    assert str(caught.value) == words and isinstance(caught.value, BookError)
    assert claimbook.__main__.main() == 1
    assert capsys.readouterr().err == f"grokbook: {words}\n"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("claimbook.plots", "matplotlib", "pages"),
        ("claimbook.tables", "pandas", "records"),
        ("claimbook.claims", "pandas", "records"),
        ("claimbook.evidence", "numpy", "records"),
        ("claimbook.records", "pyarrow", "records"),
        ("claimbook.engine.pool", "tqdm", "records"),
        ("grokbook.instability", "pandas", "records"),
    ],
)
def test_a_missing_extra_is_named_by_every_part(monkeypatch, module, package, extra):
    parts = [name for name in sys.modules if f"{name}.".startswith(f"{module}.")]
    for name in parts:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    words = f"{package} is not installed: pip install 'grokking-book\\[{extra}]'"
    with pytest.raises(NotInstalled, match=words):
        importlib.import_module(module)


def test_yaml_is_asked_for_where_a_file_is_read(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(NotInstalled, match="yaml is not installed: pip install"):
        project.read_yaml(tmp_path / "any.yaml")


@pytest.mark.parametrize("text", ["[]", "0", "false", "''"])
def test_an_empty_content_of_another_type_is_refused(tmp_path, text):
    path = tmp_path / "any.yaml"
    path.write_text(text)
    with pytest.raises(BookError, match="any.yaml"):
        project.read_yaml(path)
    path.write_text("# nothing\n")
    assert project.read_yaml(path) == {} and project.read_yaml(path, list) == []


def test_tasks_need_torch_alone_but_for_what_they_read(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("grokbook.datasets")]:
        monkeypatch.delitem(sys.modules, name)
    for package in ("numpy", "tiktoken"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delattr(grokbook, "datasets", raising=False)
    task = importlib.import_module("grokbook.datasets").modular(5, operation="a*a + b")
    assert len(task.y_test) == 15
    words = r"tiktoken is not installed: pip install 'grokking-book\[book\]'"
    with pytest.raises(NotInstalled, match=words):
        importlib.import_module("grokbook.datasets.text").encoder()


def test_the_commit_is_the_one_that_training_began_with(tmp_path, monkeypatch):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        words = ("git", "-C", str(tmp_path), *identity, *words)
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    asked = []

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
    git("commit", "--all", "--quiet", "--message", "second")
    project.commit.cache_clear()
    monkeypatch.setattr(project, "source", lambda: asked.append("source"))
    project.note_code()
    code.write_text("3")  # during a long training
    assert project.commit() == git("rev-parse", "--short=10", "HEAD").strip()
    assert asked == ["source"]
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
    words = r"unknown arm 'c': use one of 'a, lr 1', b$"
    with pytest.raises(UnknownName, match=words):
        choose("arm", "c", ["a, lr 1", "b"])
    words = r"unknown loss \[\]: use one of none, as none is known$"
    with pytest.raises(UnknownName, match=words):
        choose("loss", [], {})
    with pytest.raises(UnknownName, match="use one of basics/grokking, liu2026/"):
        papers.recorded("a", "paper")
