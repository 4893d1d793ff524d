"""Formulas as MathML, which browsers draw themselves: no script, no second file.

A Sphinx extension for pages that have to be one file. docutils translates the LaTeX; a
formula that it does not know is shown as it is written.
"""

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

OTHERWISE = {r"\dots": r"\ldots", r"\textstyle": "", r"\displaystyle": ""}


def mathml(latex: str, *, block: bool = False) -> str:
    """A formula as MathML, or its source in `<code>`."""
    known = latex.strip()
    for command, other in OTHERWISE.items():
        known = known.replace(command, other)
    try:
        return str(tex2mathml(known, as_block=block))
    except (MathError, IndexError, KeyError, TypeError, AttributeError):
        return f"<code class='latex'>{escape(latex.strip())}</code>"


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    ids = "".join(f' id="{one}"' for one in node["ids"][:1])
    number = f"<span>({node['number']})</span>" if node.get("number") else ""
    formula = mathml(node.astext(), block=True)
    translator.body.append(f'<div class="math"{ids}>{formula}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
