"""Handouts: nothing of the book's markup is left in them, and they run anywhere."""

import os
import re
import subprocess
import sys
import zipfile
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from bs4 import BeautifulSoup
from jinja2 import Environment, FileSystemLoader, Template
from nbclient import NotebookClient

from book._ext import downloads, handouts, notebooks, pages, site

ROOT = Path(__file__).parents[1]
RUN = "tiwari2026/tab06"  # several records, and the paper's own points
LEFT = re.compile(
    r"\{{1,2}[a-z:]+\}{1,2}`|^\s*:{3}|\{\.\w+\}|^:\w+:"
    r"|\]\(\s*(?!https?://|#)\S*\.(?:ipynb|md|html)",
    re.M,
)


def twin(page_id):
    return notebooks.read_twin(pages.find(page_id))


def texts(notebook):
    """All that a reader sees as Markdown: cells, and what code printed."""
    found = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return found + [text for _, text in notebooks.outputs(notebook, "text/markdown")]


PRIETO = "https://arxiv.org/abs/2501.04697"
RESOLVED = {
    "a {term}`logit`, two {term}`logits <logit>`": "a logit, two logits",
    "{cite:t}`prieto2025`": f"[Prieto et al. (2025)]({PRIETO})",
    "{cite:p}`prieto2025`": f"([Prieto et al., 2025]({PRIETO}))",
    "{ref}`the second <fig-two>`, {ref}`fig-two`": "the second, Plot 2",
    "{doc}`board </generated/scoreboard>`": "board",
    "[Figure 3](fig03_stablemax.ipynb) x[0](1)": "Figure 3 x[0](1)",
    "[issue](https://example.org/1)": "[issue](https://example.org/1)",
    "$[x]{y}$": "$[x]{y}$",
    "a\n```{include} ../x.md\n```\nb": "a\n\nb",
    'f"A {{term}}`logit` of {x}."': 'f"A logit of {x}."',
    "```{exercise}\n:label: ex-a\nA?\n```": "**Exercise 1.** *A* (5 minutes, b)\n\nA?",
}


def test_markup_becomes_plain_markdown():
    numbers = {"fig-one": 1, "fig-two": 2, "ex-a": 1}
    told = {"title": "A", "minutes": 5, "level": "b", "rubric": "Has 1."}
    plain = partial(
        handouts.PlainMarkdown, "prieto2025/fig02_softmax_collapse", numbers
    )
    plain = partial(plain, exercises={"ex-a": told})
    for myst, said in RESOLVED.items():
        assert plain().markdown(myst) == said
    site = "https://name.github.io/book"
    text = "{term}`logits <logit>` [3](../liu2026/fig03_x.ipynb#a)"
    online = f"[logits]({site}/glossary.html#term-logit) "
    online += f"[3]({site}/liu2026/fig03_x.html#a)"
    assert plain(site=site).markdown(text) == online
    code = "````{{solution}} ex-a\n:class: dropdown\n```python\n1\n```\n````"
    assert "```python\n1\n```\n\n**Rubric.** Has 1.\n\n</details>" in plain().markdown(
        code
    )
    assert plain(has_solutions=False).markdown(code) == ""


def test_every_handout_is_whole_and_has_no_markup_left():
    """Solutions for the teacher alone, figures with captions and words, valid files."""
    for page_id in pages.sources():
        book = twin(page_id)
        written = "\n".join(texts(book))
        exercises, answers = (
            len(re.findall(rf"^`{{3,}}\{{{kind}\}}", written, re.M))
            for kind in ("exercise", "solution")
        )
        cells = map(notebooks.display_options, book.cells)
        alts = [told["image"]["alt"] for told in cells if "figure" in told]
        for solutions in (True, False):
            made = handouts.page_handout(page_id, book, solutions=solutions)
            nbformat.validate(made)
            shown = texts(made)
            assert not [t for t in shown if LEFT.search(t)], page_id
            text = "\n".join(shown)
            assert (
                len(re.findall(r"^\*\*Exercise \d+\.\*\* \*", text, re.M)) == exercises
            )
            assert text.count("**Rubric.** ") == answers * solutions
            assert "Press Start" not in text
            assert solutions or "make page " not in text, page_id
            assert text.count("<summary>Solution of exercise") == answers * solutions
            captions = [t for t in shown if t.startswith("**Plot ")]
            assert [t.split("\n\n")[-2] for t in captions] == alts


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The archive that handouts install."""
    folder = tmp_path_factory.mktemp("packed")
    names = filter(downloads.is_of_package, downloads.tracked(ROOT))
    downloads.pack(ROOT, names, folder / downloads.PACKAGE)
    return folder


def test_an_archive_has_the_package_and_no_more(packed):
    with zipfile.ZipFile(packed / downloads.PACKAGE) as opened:
        names = {name.partition("/")[2] for name in opened.namelist()}
    assert {"pyproject.toml", "src/grokbook/losses.py", "src/claimbook/cli.py"} <= names
    assert {"LICENSE", "book/project.yaml", "book/keys.json"} <= names
    assert not [n for n in names if n.startswith(("_build", ".git/", "tests"))]
    everything = set(downloads.tracked(ROOT))
    assert {"Makefile", "book/intro.md", "tests/test_handout.py"} <= everything


def test_a_handout_runs_outside_of_the_repository(packed, tmp_path, monkeypatch):
    """Below the folder of the archive, without git and pip; the same comes out."""
    archive = tmp_path / downloads.PACKAGE
    archive.write_bytes((packed / downloads.PACKAGE).read_bytes())
    digest = sha256(archive.read_bytes()).hexdigest()
    told = {"site": "", "archive": archive.name, "sha256": digest}
    made = handouts.page_handout(RUN, twin(RUN), solutions=False, start=told)
    first = made.cells[1]
    no_pip = "import subprocess; as_it_was = subprocess.run; subprocess.run = None"
    first.source = f"{no_pip}\n{first.source}\nsubprocess.run = as_it_was\n"
    first.source += "import grokbook; assert str(book_folder) in grokbook.__file__"
    for name in ("PYTHONPATH", "GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    folder = tmp_path / "handouts" / "tiwari2026"
    folder.mkdir(parents=True)
    where = {"metadata": {"path": str(folder)}}
    ran = NotebookClient(nbformat.from_dict(made), timeout=300, resources=where)
    now, before = (notebooks.closing(one) for one in (ran.execute(), twin(RUN)))
    assert now["claims"] == before["claims"] and len(now["claims"]) > 3
    assert not list(folder.iterdir())  # the archive is unpacked once for all hand-outs


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Runs the first cell in an empty folder; where the book is, or what it says."""
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("GROKBOOK_HOME", "")
    template = Template((ROOT / "book/_templates/get_ready.txt").read_text())

    def run(said="", *, site="", needs=(), sha256="0"):
        told = {"archive": "a.zip", "sha256": sha256, "site": site, "needs": [*needs]}
        code, found = template.render(told), {}
        if said:
            with pytest.raises(Exception, match=said) as caught:
                exec(code, found)
            # of which a notebook shows no more than this
            assert caught.value._render_traceback_() == [str(caught.value)]
        else:
            exec(code, found)
        return found.get("book_folder")

    return run


def unpacked(folder, digest):
    """Where the first cell puts the book of an archive with a digest."""
    return folder / f"a-{digest[:8]}" / "a"


def zipped(path, name="a/src/grokbook/__init__.py"):
    """An archive with one empty file, and its digest."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "")
    return sha256(path.read_bytes()).hexdigest()


def test_a_start_that_fails_is_one_sentence(start, tmp_path, monkeypatch):
    start("^Download a.zip from the page Downloads of")
    no_network = (
        r"/downloads/a.zip cannot be fetched: .*No such file.*; without a network"
    )
    start(no_network, site=tmp_path.as_uri())
    Path("a.zip").write_bytes(b"other")
    start("/a.zip is not that of this notebook: get")
    start("/a.zip cannot be unpacked: ", sha256=sha256(b"other").hexdigest())
    assert [path.name for path in Path.cwd().iterdir()] == ["a.zip"]

    pip = "WARNING: Retrying after connection broken by NewConnectionError\nERROR: None"
    failed = SimpleNamespace(returncode=1, stderr=pip)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    needs = ["numpy>=2", "no-such-one>=1", "pandas>=99"]
    said = (
        r"^pip cannot install no-such-one>=1, pandas>=99 \(there is no network\): inst"
    )
    start(said, needs=needs)
    failed.stderr = "ERROR: No space left"
    start(r"\(ERROR: No space left\)", needs=needs)


def test_the_book_is_found_above_and_by_its_variable(start, tmp_path, monkeypatch):
    digest = zipped(tmp_path / "a.zip")
    book = unpacked(tmp_path, digest)
    assert start(sha256=digest) == book
    assert sys.path[0] == str(book / "src")
    assert start() == book  # again: no archive is read or unpacked
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "a.zip").rename(elsewhere / "a.zip")
    monkeypatch.setenv("GROKBOOK_HOME", str(elsewhere))
    assert start(sha256=digest) == unpacked(elsewhere, digest)


def test_an_archive_in_a_folder_of_others_is_unpacked_here(
    start, tmp_path, monkeypatch
):
    digest = zipped(tmp_path / "a.zip")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert start(sha256=digest) == unpacked(Path.cwd(), digest)


def test_a_page_needs_what_it_imports():
    every = handouts.requirements()
    assert any(one.startswith("torch") for one in every) and len(every) > 10
    assert not [one for one in every if one.startswith("grokking-book")]


def test_an_archive_that_came_otherwise_is_fetched_again(start, tmp_path):
    """Cut, or another edition's: it never takes the name of the right one."""
    offered = tmp_path / "site" / "downloads" / "a.zip"
    offered.parent.mkdir(parents=True)
    digest = zipped(offered)
    whole, site = offered.read_bytes(), offered.parents[1].as_uri()
    Path("a.zip").write_bytes(b"of an edition before")
    for wrong in (whole[:-9], b"<html>"):
        offered.write_bytes(wrong)
        start("gave another archive than that of this", site=site, sha256=digest)
        assert Path("a.zip").read_bytes() == b"of an edition before"
        assert not Path("a.part").exists()
    offered.write_bytes(whole)
    assert start(site=site, sha256=digest) == unpacked(Path.cwd(), digest)


def test_links_to_colab_and_binder_exist_only_with_an_address(monkeypatch):
    config = SimpleNamespace(html_theme_options={"extra_footer": ""}, html_context={})
    templates = Environment(loader=FileSystemLoader(ROOT / "book" / "_templates"))
    page = {"pagename": "liu2026/fig01_a", "page_source_suffix": ".ipynb"}
    page |= {"pathto": lambda name, _: f"../{name}"}
    monkeypatch.setattr(site, "version", lambda: "1")  # which reads all records

    def foot():
        site.configure(None, config)
        told = page | config.html_context
        html = templates.get_template("apparatus.html").render(told)
        return [link["href"] for link in BeautifulSoup(html, "html.parser").select("a")]

    for name in ("SITE", "REPOSITORY"):
        monkeypatch.delenv(f"GROKBOOK_{name}", raising=False)
    start = "../downloads/handouts/liu2026/fig01_a"
    assert foot()[1:] == [f"{start}-{kind}.ipynb" for kind in downloads.KINDS]
    monkeypatch.setenv("GROKBOOK_SITE", "https://name.github.io/book/")
    monkeypatch.setenv("GROKBOOK_REPOSITORY", "https://github.com/name/book")
    colab, binder = foot()[-2:]
    assert colab.endswith("/github/name/book/blob/handouts/liu2026/fig01_a-class.ipynb")
    assert binder.endswith("/name/book/handouts?labpath=liu2026/fig01_a-class.ipynb")
    workflow = (ROOT / ".github" / "workflows" / "publish.yml").read_text()
    assert 'push --quiet --force "$REMOTE" handouts\n' in workflow
