"""Formulas as HTML, by KaTeX in an embedded V8 as the book is built: no page has it."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx


@cache
def engine(_process: int) -> MiniRacer:
    """KaTeX, ready; what a process forks into starts its own."""
    made = MiniRacer()
    made.eval(Path(__file__).with_name("katex.min.js").read_text(encoding="utf-8"))
    return made


@cache
def drawn(formula: str, display: bool = False) -> str:
    """HTML of a formula, with MathML for readers aloud; an error for a wrong one."""
    how = {"displayMode": display, "strict": "ignore"}
    return str(engine(os.getpid()).call("katex.renderToString", formula, how))


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{drawn(node.astext())}</span>')
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    text = node.astext().strip()
    if r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{split}}{text}\end{{split}}"
    self.body.append(f"{drawn(text, True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
