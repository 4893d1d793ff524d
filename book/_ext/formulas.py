"""Formulas as HTML, by KaTeX in an embedded V8 while the book is built.

So no page has to load a script for them.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx


@cache
def _engine(_process_id: int) -> MiniRacer:
    """Return a V8 with KaTeX; a forked process, whose id differs, gets its own."""
    engine = MiniRacer()
    engine.eval(Path(__file__).with_name("katex.min.js").read_text(encoding="utf-8"))
    return engine


@cache
def html_of(formula: str, is_display: bool = False) -> str:
    """Return the HTML of a TeX formula, with MathML for screen readers.

    Raises JSEvalException for a formula that is wrong.
    """
    options = {"displayMode": is_display, "strict": "ignore"}
    return str(_engine(os.getpid()).call("katex.renderToString", formula, options))


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write an inline formula; ``self`` is the HTML translator of Sphinx."""
    self.body.append(f'<span class="math">{html_of(node.astext())}</span>')
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed formula; several lines of one are aligned, as by Sphinx."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    text = node.astext().strip()
    if r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{split}}{text}\end{{split}}"
    self.body.append(f"{html_of(text, is_display=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register KaTeX as the renderer of formulas; called by Sphinx."""
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_block, None))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
