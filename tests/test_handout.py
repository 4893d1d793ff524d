"""Handouts: nothing of the book's markup is left in them, and they run anywhere."""

import contextlib
import functools
import hashlib
import http.server
import io
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient

from book._ext import archive, begin, downloads, handout, links, notebooks, pages
from book._ext.plain import Resolver
from book._ext.sources import Published, Sources, published
from grokbook import __version__, project, records
from grokbook.errors import DataError, PageError

ROOT = Path(__file__).parents[1]
START = {"site": "", "archive": archive.BOOK, "version": __version__, "packages": {}}
ONLINE = Published(
    "https://name.github.io/book", "https://github.com/name/book", "main"
)
TWINS = {i: notebooks.read_twin(path) for i, path in pages.sources().items()}
RUN = ("prieto2025/fig14", "liu2026/tab03", "tiwari2026/tab06")


def make(page_id, kind, where=None, start=START):
    sources = Sources(where=where or Published())
    return handout.made(page_id, TWINS[page_id], kind, sources=sources, start=start)


@functools.cache
def made(page_id, kind):
    return make(page_id, kind)


def texts(notebook):
    """All that a reader sees as Markdown: cells, and what code printed."""
    found = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return found + [text for _, text in notebooks.outputs(notebook, "text/markdown")]


def resolver(**more):
    return Resolver("prieto2025/fig02_softmax_collapse", Sources(), **more)


# what is resolved, and into what


@pytest.mark.parametrize(
    ("myst", "plain"),
    [
        ("a {term}`logit`, two {term}`logits <logit>`", "a logit, two logits"),
        (
            "{cite:t}`prieto2025`",
            "[Prieto et al. (2025)](https://arxiv.org/abs/2501.04697)",
        ),
        (
            "{cite:p}`prieto2025`",
            "([Prieto et al., 2025](https://arxiv.org/abs/2501.04697))",
        ),
        ("{ref}`the second <fig-two>`", "the second (Plot 2)"),
        ("{numref}`Plot %s <fig-two>`, {numref}`fig-two`", "Plot 2, Plot 2"),
        ("{doc}`status </generated/status>`", "status"),
        ("{doc}`/glossary`", "Glossary"),
        ("[Figure 3](fig03_stablemax.ipynb) x[0](1)", "Figure 3 x[0](1)"),
        ("a [broken\nline](\n  fig03_stablemax.ipynb)", "a broken\nline"),
        ("[issue](https://example.org/1)", "[issue](https://example.org/1)"),
        ("[a box]{.kicker} and $[x]{y}$", "a box and $[x]{y}$"),
        ("![A curve](../_static/a.svg)", "*(A picture in the book: A curve)*"),
        ('<a class="x" href="../intro.html">home</a>', "home"),
        ("(target)=\nWords", "Words"),
        (":::{note}\nLook.\n:::", "> **Note**\n>\n> Look."),
        ("```{math}\nx^2\n```", "$$\nx^2\n$$"),
        ("```python\n{term}`logit`\n```", "```python\n{term}`logit`\n```"),
    ],
)
def test_markup_becomes_plain_markdown(myst, plain):
    assert resolver(figures={"fig-one": 1, "fig-two": 2}).markdown(myst) == plain


def test_links_lead_to_the_book_where_it_is_known():
    found = Resolver("prieto2025/fig02", Sources(where=ONLINE))
    site = ONLINE.site
    assert found.markdown("{term}`logits <logit>`") == (
        f"[logits]({site}/glossary.html#term-logit)"
    )
    assert found.markdown("[3](../liu2026/fig03_x.ipynb#a)") == (
        f"[3]({site}/liu2026/fig03_x.html#a)"
    )
    assert found.markdown("![A](generated/a.svg)") == f"![A]({site}/_images/a.svg)"
    assert found.html("<a href='fig01_a.html'>1</a>") == (
        f'<a href="{site}/prieto2025/fig01_a.html">1</a>'
    )
    opening = make("prieto2025/fig04", "class", ONLINE).cells[0].source
    assert f"({site}/prieto2025/fig04_stablemax_grokking.html)" in opening


EXERCISE = """```{exercise}
:label: one
Is {term}`softmax collapse` rare?
```

````{solution} one
:class: dropdown
No:

```python
print("no")
```
````
"""


def test_solutions_are_folded_or_left_out():
    folded = resolver().markdown(EXERCISE)
    assert folded.startswith(
        "**Exercise 1.**\n\nIs softmax collapse rare?\n\n<details>"
    )
    assert '```python\nprint("no")\n```\n\n</details>' in folded
    left_out = resolver(solutions=False).markdown(EXERCISE)
    assert left_out.strip() == "**Exercise 1.**\n\nIs softmax collapse rare?"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("{kbd}`x`", "has the role {kbd}"),
        ("```{mermaid}\na\n```", "has the directive {mermaid}"),
        ("{term}`lodgit`", "no term 'lodgit'"),
        ("{cite:t}`nobody1999`", "no 'nobody1999'"),
        ("{ref}`fig-nowhere`", "refers to 'fig-nowhere'"),
        ("{doc}`/nowhere`", "no page 'nowhere'"),
        ("```{solution} two\n```", "'two', which is no exercise"),
    ],
)
def test_unknown_markup_is_named(wrong, said):
    with pytest.raises(PageError) as error:
        resolver().markdown(wrong)
    assert said in str(error.value)


def test_markup_in_a_printed_sentence_is_resolved_in_its_code_too():
    text = 'tables.prose(f"""\nA {{term}}`logit <logit>` of {x}.\n""")'
    assert resolver().markdown(text) == 'tables.prose(f"""\nA logit of {x}.\n""")'


# every page


@pytest.mark.parametrize("kind", handout.KINDS)
@pytest.mark.parametrize("page_id", TWINS)
def test_nothing_of_the_markup_is_left(page_id, kind):
    notebook = made(page_id, kind)
    nbformat.validate(notebook)
    for text in texts(notebook):
        assert not re.search(r"\{[a-z:]+\}`|^\s*:::|\{\.\w+\}|^:\w+:", text, re.M), text
        assert not re.search(r"\]\(\s*(?!https?://|#)\S*\.(ipynb|md|html)", text), text
    for cell in notebook.cells:
        assert not cell.source.startswith("#|")
        if cell.cell_type == "code" and "prose(" in cell.source:
            assert not re.search(r"\{\{[a-z:]+\}\}`", cell.source)


@pytest.mark.parametrize("page_id", TWINS)
def test_the_teacher_has_every_solution_and_the_class_none(page_id):
    twin = "\n".join(texts(TWINS[page_id]))
    exercises, solutions = (
        len(re.findall(rf"^`{{3,}}\{{{name}\}}", twin, re.M))
        for name in ("exercise", "solution")
    )
    for kind, many in (("class", 0), ("teacher", solutions)):
        text = "\n".join(texts(made(page_id, kind)))
        assert len(re.findall(r"^\*\*Exercise \d+\.\*\*$", text, re.M)) == exercises
        assert text.count("<summary>Solution of exercise") == many
    code = "\n".join(c.source for c in made(page_id, "class").cells)
    assert "{solution}" not in code and "Solution of exercise" not in code


@pytest.mark.parametrize("page_id", TWINS)
def test_figures_keep_their_captions_and_their_words(page_id):
    told = [c.metadata.get("mystnb", {}) for c in TWINS[page_id].cells]
    alts = [one["image"]["alt"] for one in told if "image" in one]
    notebook = made(page_id, "class")
    kept = [
        output["metadata"]["image/png"]["alt"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert kept == alts
    captions = [t for t in texts(notebook) if t.startswith("**Plot ")]
    assert [t.split("\n\n")[-2] for t in captions] == alts
    assert [int(t[7 : t.index(".")]) for t in captions] == [*range(1, len(alts) + 1)]


def test_rest_of_markup_is_refused():
    twin = nbformat.reads(nbformat.writes(TWINS["prieto2025/fig02"]), 4)
    twin.cells.append(nbformat.v4.new_markdown_cell("```\n:::{note}\n```"))
    with pytest.raises(PageError, match="still has ':::{note}', which Jupyter shows"):
        handout.made("prieto2025/fig02", twin, "class", sources=Sources(), start=START)


def test_a_record_other_than_that_of_the_page_is_refused():
    twin = nbformat.reads(nbformat.writes(TWINS["prieto2025/fig02"]), 4)
    notebooks.claims_of(twin)["read"][0]["sha256"] = "0" * 64
    with pytest.raises(PageError, match=r"executed from another fig02.paper.parquet"):
        handout.needed("prieto2025/fig02", twin)


# the first cell


def get_ready(**told):
    told = {"site": "", "packages": {}, "files": {}, "version": __version__} | told
    begin.get_ready(archive=archive.BOOK, **told)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, with GROKBOOK_HOME put back at the end."""
    monkeypatch.setenv("GROKBOOK_HOME", "")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def beside(folder, **content):
    """An archive of the book with one file."""
    with zipfile.ZipFile(folder / archive.BOOK, "w") as opened:
        for name, text in content.items():
            stem = archive.BOOK.removesuffix(".zip")
            opened.writestr(f"{stem}/data/records/{name}", text)


NAME = "data/records/a"
FILES = {NAME: hashlib.sha256(b"rows").hexdigest()}


def test_a_missing_archive_is_asked_for_in_one_sentence(elsewhere):
    with pytest.raises(SystemExit) as said:
        get_ready(files=FILES)
    words = str(said.value)
    assert words.startswith(f"Download {archive.BOOK} from the page Downloads of the ")
    assert str(elsewhere) in words and words.count("\n") == 0
    with pytest.raises(SystemExit, match="Download "):
        get_ready(version="9")


def test_files_come_from_the_archive_and_are_checked(elsewhere):
    beside(elsewhere, a="rows")
    get_ready(files=FILES)
    assert (elsewhere / "grokking-book" / NAME).read_text() == "rows"
    assert os.environ["GROKBOOK_HOME"] == str(elsewhere / "grokking-book")
    (elsewhere / archive.BOOK).unlink()
    get_ready(files=FILES)  # what is there is not fetched again
    (elsewhere / "grokking-book" / NAME).write_text("other rows")
    with pytest.raises(SystemExit, match="Download "):
        get_ready(files=FILES)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"a": "other rows"}, "data/records/a is not the file this notebook was made"),
        ({"b": "rows"}, "data/records/a cannot be had"),
    ],
)
def test_another_file_is_refused(elsewhere, content, said):
    beside(elsewhere, **content)
    with pytest.raises(SystemExit, match=said):
        get_ready(files=FILES)
    assert not (elsewhere / "grokking-book" / NAME).exists()


def test_a_damaged_archive_is_named(elsewhere):
    (elsewhere / archive.BOOK).write_bytes(b"PK no more")
    with pytest.raises(SystemExit, match=r"cannot be had .*download this notebook and"):
        get_ready(files=FILES)


@pytest.fixture
def site(tmp_path):
    """A folder that is served on this machine, its address, and what was asked for."""
    folder, asked = tmp_path / "site", []
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *how):
            super().__init__(*how, directory=str(folder))

        def log_request(self, *about):
            asked.append(self.path)

        def log_error(self, *about):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_a_published_book_is_asked_for_the_records_alone(elsewhere, site):
    folder, address, asked = site
    (folder / "downloads" / "records").mkdir(parents=True)
    (folder / "downloads" / "records" / "a").write_text("rows")
    get_ready(site=address, files=FILES)
    assert asked == ["/downloads/records/a"]
    (folder / "downloads" / "records" / "a").write_text("other rows")
    shutil.rmtree(elsewhere / "grokking-book")
    with pytest.raises(SystemExit, match="is not the file this notebook was made with"):
        get_ready(site=address, files=FILES)
    (folder / "downloads" / "records" / "a").unlink()
    with pytest.raises(SystemExit, match="cannot be had .*404"):
        get_ready(site=address, files=FILES)


# archives


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Both archives of the book, packed once."""
    folder = tmp_path_factory.mktemp("packed")
    names = archive.members(ROOT)
    archive.pack(ROOT, names, folder / archive.BOOK)
    archive.pack(ROOT, archive.of_package(names), folder / archive.PACKAGE)
    return folder


@pytest.fixture(scope="module")
def installed(packed, tmp_path_factory):
    """The package as pip installs it from the archive, with the first cell's words."""
    folder = tmp_path_factory.mktemp("installed")
    address = (packed / archive.BOOK).as_uri()
    digest = hashlib.sha256((packed / archive.BOOK).read_bytes()).hexdigest()
    assert pip(f"grokbook[pages] @ {address}#sha256={digest}", folder) == ""
    wrong = pip(f"grokbook[pages] @ {address}#sha256={'0' * 64}", folder / "wrong")
    assert "DO NOT MATCH THE HASHES" in wrong
    return folder


def pip(wanted, target):
    """What pip says, without the network and without what is installed already."""
    how = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    command = [sys.executable, "-m", "pip", "install", *how, str(target), wanted]
    told = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=told)
    return done.stdout + done.stderr


def test_an_archive_has_the_book_and_nothing_else(packed, tmp_path):
    with zipfile.ZipFile(packed / archive.BOOK) as opened:
        opened.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert folder.name == archive.BOOK.removesuffix(".zip")
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert there == set(archive.members(ROOT))
    assert {
        "Makefile",
        "book/intro.md",
        "data/records/prieto2025/fig02.paper.parquet",
    } <= there
    assert not [n for n in there if n.startswith(("_build", ".git/", "book/generated"))]
    (folder / "_build").mkdir()
    (folder / "_build" / "index.html").touch()  # without git .gitignore decides
    assert archive.members(folder) == archive.members(ROOT)
    archive.pack(folder, archive.members(folder), tmp_path / archive.BOOK)
    same = (tmp_path / archive.BOOK).read_bytes() == (
        packed / archive.BOOK
    ).read_bytes()
    assert same
    with pytest.raises(DataError, match="has no files of the book"):
        archive.members(tmp_path / "nowhere")


def test_the_package_alone_is_small(packed):
    assert (packed / archive.PACKAGE).stat().st_size < 1_000_000
    with zipfile.ZipFile(packed / archive.PACKAGE) as opened:
        names = {name.partition("/")[2] for name in opened.namelist()}
    assert {"pyproject.toml", "LICENSE", "src/grokbook/losses.py"} <= names


@pytest.mark.parametrize("page_id", RUN)
def test_a_handout_runs_outside_of_the_repository(
    page_id, packed, installed, tmp_path, monkeypatch
):
    """In an empty folder, without git, with the archive beside it; the same comes out.

    One figure from a record, one table without training, one page of several records.
    """
    for name in [name for name in os.environ if name.startswith("GROKBOOK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert shutil.which("git") is None
    os.link(packed / archive.BOOK, tmp_path / archive.BOOK)
    notebook = make(page_id, "class")
    before = shown(notebook)
    where = nbformat.v4.new_code_cell("import grokbook; grokbook.__file__")
    notebook.cells.append(where)
    how = {"metadata": {"path": str(tmp_path)}}
    with contextlib.redirect_stderr(io.StringIO()):
        NotebookClient(notebook, timeout=50, resources=how).execute()
    assert str(installed) in where.outputs[0]["data"]["text/plain"]
    assert shown(notebook)[:-1] == before
    kept = {p.relative_to(tmp_path).parts[0] for p in tmp_path.rglob("*")}
    assert kept == {archive.BOOK, "grokking-book"}


def shown(notebook):
    """Sentences that the cells of a notebook print, with their numbers."""
    return [
        [
            output.get("data", {}).get(mime)
            for output in cell.get("outputs", [])
            for mime in ("text/markdown",)
        ]
        for cell in notebook.cells
    ]


# what the site carries


def test_records_csv_says_what_every_file_is():
    rows = {row["file"]: row for row in downloads.records()}
    folder = records.root()
    there = {
        f"records/{path.relative_to(folder).as_posix()}"
        for path in folder.rglob("*.*")
        if path.suffix in (".parquet", ".safetensors", ".pt")
    }
    assert set(rows) == {name for name in there if "/." not in name}
    row = rows["records/prieto2025/fig02.paper.parquet"]
    assert set(row) == set(downloads.COLUMNS)
    path = folder / "prieto2025" / "fig02.paper.parquet"
    assert row["bytes"] == path.stat().st_size
    assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    members = records.table.metadata(path)["members"]
    assert (row["members"], row["kind"]) == (len(members), "table")
    assert rows["records/prieto2025/fig07.paper.safetensors"]["kind"] == "weights"


ROW = (
    "<table><tr><td>grokbook run prieto2025/fig02 --scale paper</td>"
    "<td>fig02.paper.parquet (3d9cfdd285a2)</td></tr></table>"
)


def test_provenance_links_the_files_that_are_there():
    name = "records/prieto2025/fig02.paper.parquet"
    found = links.linked(ROW, "prieto2025/fig02_x", {name})
    (link,) = BeautifulSoup(found, "html.parser").find_all("a")
    assert (link["href"], link.text) == (f"../downloads/{name}", "fig02.paper.parquet")
    assert links.linked(ROW, "prieto2025/fig02_x", set()) == ROW


# addresses, and what needs them


def test_addresses_come_from_the_environment_alone():
    assert published({}) == Published("", "", "main")
    told = {"GROKBOOK_SITE": "https://name.github.io/book/", "GROKBOOK_BRANCH": "main"}
    told |= {"GROKBOOK_REPOSITORY": "https://github.com/name/book"}
    assert published(told) == ONLINE
    assert ONLINE.github == "name/book"
    assert Published(repository="https://gitlab.com/name/book").github == ""
    with pytest.raises(PageError, match="GROKBOOK_SITE is 'here', which is no web"):
        published({"GROKBOOK_SITE": "here"})


def test_buttons_exist_only_with_an_address():
    assert links.theme_options(Published()) == {}
    assert links.launchers(Published(site=ONLINE.site), "a/b-class.ipynb") == []
    assert links.launchers(Published(repository=ONLINE.repository), "a/b.ipynb") == []
    options = links.theme_options(ONLINE)
    assert options["repository_url"] == ONLINE.repository
    assert options["use_repository_button"] and options["use_issues_button"]
    colab, binder = (b["url"] for b in links.launchers(ONLINE, "p/a-class.ipynb"))
    assert colab == (
        "https://colab.research.google.com/github/name/book/blob/handouts/"
        "p/a-class.ipynb"
    )
    assert (
        binder
        == "https://mybinder.org/v2/gh/name/book/handouts?labpath=p/a-class.ipynb"
    )


def test_publishing_tells_the_addresses():
    workflow = (ROOT / ".github" / "workflows" / "publish.yml").read_text()
    for name in ("GROKBOOK_SITE", "GROKBOOK_REPOSITORY", "GROKBOOK_BRANCH"):
        assert f"{name}: ${{{{" in workflow
    assert f'push --quiet --force "$REMOTE" {links.BRANCH}\n' in workflow
    assert 'url: ""' in (ROOT / "_config.yml").read_text()


CONF = """
extensions = ["myst_parser", "book._ext.links"]
html_theme = "sphinx_book_theme"
html_theme_options = {"repository_url": ""}
root_doc = "index"
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A book of one page that has handouts and a record."""
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    monkeypatch.delenv("GROKBOOK_RECORDS", raising=False)
    made, book = tmp_path / "_build" / "downloads", tmp_path / "book"
    for kind in handout.KINDS:
        path = made / "handouts" / "prieto2025" / f"fig02_x-{kind}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    file = "records/prieto2025/fig02.paper.parquet"
    (made / "records.csv").write_text(f"file\n{file}\n")
    for name in (f"data/{file}", "data/references/sources.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("rows")
    (book / "prieto2025").mkdir(parents=True)
    (book / "conf.py").write_text(CONF)
    (book / "index.md").write_text("# Book\n\n```{toctree}\nprieto2025/fig02_x\n```\n")
    (book / "prieto2025" / "fig02_x.md").write_text(f"# Page\n\n{ROW}\n")
    return tmp_path


def build(folder):
    """The page of the small book, rendered."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "book", "html"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (folder / "html" / "prieto2025" / "fig02_x.html").read_text()
    return BeautifulSoup(text, "html.parser")


def test_the_site_carries_its_downloads_and_names_no_address(small):
    page = build(small)
    here = small / "html" / "prieto2025"
    addresses = [a["href"] for a in page.find_all("a") if "downloads/" in a["href"]]
    assert len(addresses) == 3
    assert all((here / address).is_file() for address in addresses)
    assert (small / "html" / "downloads" / "references" / "sources.csv").is_file()
    menu = page.select(".dropdown-download-buttons a")
    assert [a.text.strip() for a in menu][:2] == [
        ".ipynb for the class",
        ".ipynb for the teacher",
    ]
    assert not page.select(".dropdown-launch-buttons, .dropdown-source-buttons")
    assert "colab" not in str(page) and page.find("link", rel="canonical") is None


def test_a_published_site_opens_handouts_online(small, monkeypatch):
    monkeypatch.setenv("GROKBOOK_SITE", ONLINE.site)
    monkeypatch.setenv("GROKBOOK_REPOSITORY", ONLINE.repository)
    page = build(small)
    online = page.select(".dropdown-launch-buttons a")
    assert [a.text.strip() for a in online] == ["Open in Colab", "Open on Binder"]
    assert all("handouts" in a["href"] and "fig02_x-class" in a["href"] for a in online)
    (repository, issue) = page.select(".dropdown-source-buttons a")
    assert repository["href"] == ONLINE.repository
    assert issue["href"].startswith(f"{ONLINE.repository}/issues/new")
    address = page.find("link", rel="canonical")["href"]
    assert address == f"{ONLINE.site}/prieto2025/fig02_x.html"


def test_downloads_that_were_not_made_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    downloads.carried.cache_clear()
    with pytest.raises(PageError, match="run 'python -m book index' first"):
        downloads.carried()
    assert project.home() == tmp_path
