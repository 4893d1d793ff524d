"""A rerun as one HTML file: the comparison with the book on top, the page below.

The page goes through the parser of the book (MyST-NB), so that its roles, exercises and
captions look as they do there. Pictures, styles and formulas are in the file: it asks
for nothing else, from anywhere.
"""

import base64
import io
import json
import re
import shutil
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from book._ext import pages
from book._ext.comparison import Comparison, Row
from grokbook import papers
from grokbook.claims.verdict import badge
from grokbook.experiment import SCALES
from grokbook.project import home
from grokbook.tables import Html, markup

STYLE = Path(__file__).with_name("rerun.css")
CONFIG: dict[str, Any] = {
    "extensions": [
        "myst_nb",
        "sphinx_design",
        "sphinx_exercise",
        "sphinxcontrib.bibtex",
        "book._ext.mathml",
    ],
    "root_doc": "page",
    "nb_execution_mode": "off",
    "nb_render_markdown_format": "myst",
    "nb_merge_streams": True,
    "numfig": True,
    "numfig_format": {"figure": "Plot %s"},
    "html_math_renderer": "mathml",
    "myst_enable_extensions": [
        *("amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"),
        *("linkify", "substitution", "tasklist"),
    ],
}


def write(notebook: Path, found: Comparison) -> Path:
    """Write the HTML file beside the notebook of a rerun, and return its path."""
    body, code = _rendered(notebook)
    kicker = pages.kicker(found.page_id)
    style = (home() / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    style += STYLE.read_text(encoding="utf-8") + code
    path = notebook.with_suffix(".html")
    path.write_text(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>A rerun of {escape(kicker)}</title><style>{style}</style></head>"
        f"<body><main class='bd-content bd-article'>{head(found)}{body}</main></body>"
        "</html>\n",
        encoding="utf-8",
    )
    return path


def head(found: Comparison) -> str:
    """The banner, and the table of claims with the book's value beside the rerun's."""
    name = escape(pages.kicker(found.page_id))
    words = ["A rerun; the text below describes the book's run."]
    if found.trained:
        words.append("Figures, tables and printed numbers are those of the rerun.")
    else:
        words.append("Nothing is trained on this page.")
    words += _reduced(found)
    at = [f" ({scale} scale)" if found.trained else "" for scale in found.scales]
    banner = (
        f"<p><strong>{name}{at[1]}.</strong> {' '.join(words)}</p>"
        f"<p><strong>{escape(found.summary)}</strong></p>"
    )
    table = ""
    if found.rows:
        top = ("Claim", f"Book{at[0]}", f"Your run{at[1]}", "")
        table = markup(top, map(_cells, found.rows), kind="claims compared")
    return f"<aside class='rerun' aria-label='About this rerun'>{banner}{table}</aside>"


def _reduced(found: Comparison) -> list[str]:
    """What the scale of the rerun leaves out, in words."""
    scale = found.scales[1]
    if scale not in SCALES or not found.trained:
        return []
    told = [papers.get(name, scale).reduced for name in found.trained]
    kept = list(dict.fromkeys(filter(None, told)))
    return [escape(f"Reduced at {scale} scale: {'; '.join(kept)}.")] if kept else []


def _cells(row: Row) -> tuple[str | Html, ...]:
    mark = f"<span class='mark-{row.mark}'>{row.mark}</span>" if row.mark else ""
    return row.statement, _value(row.book), _value(row.mine), Html(mark, row.mark)


def _value(claim: dict[str, Any] | None) -> Html:
    if claim is None:
        return Html("<em>no such claim</em>", "no such claim")
    value = f"{claim['ours']} (n = {claim['n']})" if claim["n"] else ""
    return Html(f"{escape(value)} {badge(claim['verdict'])}", value)


def _rendered(notebook: Path) -> tuple[str, str]:
    """The page as HTML with its pictures inside, and the style of its code."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    with tempfile.TemporaryDirectory(prefix="grokbook-") as scratch:
        source, out = Path(scratch, "source"), Path(scratch, "out")
        source.mkdir()
        shutil.copy(notebook, source / "page.ipynb")
        references = home() / "book" / "references.bib"
        config = CONFIG | {"bibtex_bibfiles": [str(references)]}
        silent = io.StringIO()
        with patch_docutils(str(source)), docutils_namespace():
            app = Sphinx(
                srcdir=source,
                confdir=None,
                outdir=out,
                doctreedir=Path(scratch, "tree"),
                buildername="json",
                confoverrides=config,
                status=None,
                warning=silent,
            )
            app.build()
        body = json.loads((out / "page.fjson").read_text(encoding="utf-8"))["body"]
        code = (out / "_static" / "pygments.css").read_text(encoding="utf-8")
        return _alone(_with_pictures(body, out)), code


def _alone(body: str) -> str:
    """Links to other files of the book as plain words: those files are not here."""
    known = set(re.findall(r'id="([^"]+)"', body))

    def kept(match: re.Match[str]) -> str:
        address, words = match.groups()
        is_here = address.startswith("#") and address[1:] in known
        return match[0] if is_here or address.startswith("http") else words

    return re.sub(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', kept, body, flags=re.S)


def _with_pictures(body: str, folder: Path) -> str:
    """Each picture of a page in the place of its address."""

    def inside(match: re.Match[str]) -> str:
        path = folder / "_images" / match[1]
        kind = "svg+xml" if path.suffix == ".svg" else path.suffix.removeprefix(".")
        data = base64.b64encode(path.read_bytes()).decode()
        return f'src="data:image/{kind};base64,{data}"'

    return re.sub(r'src="[^":]*_images/([^"/]+)"', inside, body)
