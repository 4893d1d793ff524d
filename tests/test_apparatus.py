"""What stands around a page: sources, citations, descriptions, version, definitions."""

import re
import tomllib
from types import SimpleNamespace

import pytest
import yaml
from docutils import nodes
from pybtex.database import parse_string

from book._ext import apparatus, citing, pages, terms
from grokbook.errors import GrokbookError
from grokbook.project import PAPERS, home

ROOT = home()
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
MONTHS = re.findall(
    r"^## (\w+ \d{4})", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A book of one paper with code for two figures, and no git."""
    (tmp_path / "book").mkdir()
    (tmp_path / "data" / "references").mkdir(parents=True)
    (tmp_path / "book" / "references.bib").write_text(
        "@misc{one2025,\n  title = {A {T}itle},\n"
        "  url = {https://arxiv.org/abs/2501.00001}\n}\n\n"
        "@misc{two2025,\n  title = {Lost},\n  url = {https://example.org}\n}\n"
    )
    (tmp_path / "data" / "references" / "sources.csv").write_text(
        "file,sha256,repository,commit,path,what\n"
        "one2025/fig01.csv,0,github.com/a/b,aaa1,x,y\n"
        "one2025/fig01_printed.csv,0,github.com/a/b,bbb2; aaa1,x,y\n"
        "one2025/fig10.csv,0,github.com/a/b,ccc3,x,y\n"
        "one2025/tab01.csv,0,arXiv 2501.00001,v1,Table 1,y\n"
    )
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    return tmp_path


def test_versions_and_dates_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert CFF["version"] == project["version"]
    assert f"{CFF['date-released']:%B %Y}" == MONTHS[0]


def test_the_book_cites_every_paper_that_it_reruns():
    cited = {one["url"] for one in CFF["references"]}
    assert cited == {citing.ARXIV + citing.sources(paper).arxiv for paper in PAPERS}


@pytest.mark.parametrize(
    ("paper", "repository"),
    [
        ("prieto2025", "LucasPrietoAl/grokking-at-the-edge-of-numerical-stability"),
        ("singh2026", "jaisidhsingh/layernorm-grok"),
        ("liu2026", ""),
        ("tiwari2026", ""),
    ],
)
def test_a_paper_says_where_its_code_is_or_that_there_is_none(paper, repository):
    line = apparatus.sources(paper, f"{paper}/fig01")
    assert f'href="{citing.ARXIV}' in line
    commits = re.findall(rf"github\.com/{re.escape(repository)}/tree/(\w+)", line)
    if repository:
        assert commits
        assert all(len(commit) == 40 for commit in commits)
    else:
        assert "github" not in line
        assert line.endswith("no official code")


@pytest.mark.parametrize(
    ("page", "commits"),
    [("fig01", ("aaa1", "bbb2")), ("fig10", ("ccc3",)), ("fig02", ("aaa1",))],
)
def test_commits_are_those_of_the_page_or_the_most_used(checkout, page, commits):
    found = citing.sources("one2025", f"one2025/{page}")
    assert found == citing.Sources("2501.00001", "github.com/a/b", commits)


def test_a_paper_without_an_address_on_arxiv_is_refused(checkout):
    with pytest.raises(GrokbookError, match="'two2025' of book/references.bib has no"):
        citing.sources("two2025")
    with pytest.raises(GrokbookError, match="has no entry 'three2025'"):
        citing.sources("three2025")


def test_without_git_the_date_is_that_of_the_release(monkeypatch):
    monkeypatch.setenv("PATH", "")
    date, commit = citing.built_from.__wrapped__()
    assert (date, commit) == (CFF["date-released"], "")


def test_bibtex_can_be_read_back():
    text = citing.bibtex(
        "prieto2025/fig02", "50 % of {A}_1 & ⊥Grad", "Figure 2", "https://x.org/a.html"
    )
    (key,) = (found := parse_string(text, "bibtex").entries)
    fields = found[key].fields
    assert key == "grokbook-prieto2025-fig02"
    assert fields["title"] == r"{50 \% of A\_1 \& ⊥Grad}"
    assert fields["note"].startswith(f"Figure 2, Version {CFF['version']}, ")
    assert fields["url"] == "https://x.org/a.html"
    assert "url" not in citing.bibtex("intro", "The Grokking Book")


@pytest.mark.parametrize("paper", PAPERS)
def test_the_entry_of_a_paper_is_whole(paper):
    (key,) = parse_string(citing.entry(paper), "bibtex").entries
    assert key == paper


def title_of(kicker, finding):
    small = nodes.inline("", kicker, classes=["kicker"])
    return nodes.title("", "", small, nodes.Text(f" {finding}"))


def test_a_page_is_described_by_its_finding_and_its_verdict():
    kicker, finding = apparatus.parts(title_of("Liu et al. 2026 · Figure 1", "It is"))
    assert (kicker, finding) == ("Liu et al. 2026 · Figure 1", "It is")
    body = (
        "<div class='verdict-box'><p><b>Result</b> "
        "<span class='verdict verdict-seen-once' title='1 of 1'>seen once</span></p>"
    )
    text = apparatus.describe(kicker, finding, nodes.paragraph(), body)
    assert text == "Liu et al. 2026 · Figure 1: It is. Main claim: seen once."


def test_another_page_is_described_by_how_it_begins():
    first = nodes.paragraph("", "word " * 100)
    tree = nodes.section("", nodes.paragraph(), first, nodes.paragraph("", "no"))
    text = apparatus.describe("", "Title", tree, "")
    assert len(text) <= apparatus.LONGEST + 2
    assert re.fullmatch(r"(word )+…", text)
    assert apparatus.describe("", "Title", nodes.section(), "") == ""


def test_pictures_and_addresses_are_shared_where_the_public_address_is_known():
    kept = {"generated/thumbnails/liu2026-fig01.png": ({"g"}, "liu2026-fig011.png")}
    config = SimpleNamespace(html_baseurl="https://x.org/book/")
    app = SimpleNamespace(env=SimpleNamespace(images=kept), config=config)
    found = apparatus.thumbnail(app, "liu2026/fig01_precision")
    assert found == "https://x.org/book/_images/liu2026-fig011.png"
    assert apparatus.thumbnail(app, "liu2026/fig02_mechanism") == ""
    config.html_baseurl = ""
    assert apparatus.thumbnail(app, "liu2026/fig01_precision") == ""
    tags = apparatus.meta('A "title"', "B & c", "", "")
    assert "og:image" not in tags
    assert "og:url" not in tags
    assert 'content="A &quot;title&quot;"' in tags


def test_the_name_of_a_file_leads_to_its_page():
    for page_id, path in pages.sources().items():
        name = path.relative_to(ROOT / "book").with_suffix("").as_posix()
        assert apparatus.page_id(name) == page_id


def test_a_term_is_described_where_it_is_linked(monkeypatch):
    monkeypatch.setattr(terms, "definitions", lambda _: {"term-gap": "<p>A lead.</p>"})
    link = '<a class="reference internal" href="../glossary.html#term-gap">'
    body = f'<p>{link}<span class="xref std std-term">gap</span></a> {link}there</a>'
    text = terms.define(None, "liu2026/index", body)
    assert text.count('aria-describedby="define-term-gap"><span') == 1
    assert text.count('<div id="define-term-gap"><p>A lead.</p></div>') == 1
    assert terms.define(None, "glossary", body) == body


def test_pages_are_written_again_when_the_commit_or_an_entry_changes(monkeypatch):
    before = apparatus.fingerprint()
    assert apparatus.fingerprint() == before
    monkeypatch.setattr(citing, "built_from", lambda: (CFF["date-released"], "abc"))
    assert apparatus.fingerprint() != before
