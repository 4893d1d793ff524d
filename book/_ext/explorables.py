"""Pictures that readers move, as a directive of Sphinx.

    ```{explorable} sweep
    What stands here, a picture and its words, is what a reader without scripts has.
    ```

A page with an explorable loads the scripts and the style of static/explore, no other
page does; one with the sweep also carries its numbers (book/explore.py), since a page
that is opened from a disk may not read a second file.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.config import Config

STATIC = Path(__file__).parent / "static"
SCRIPTS = {
    "absorption": ("parts", "arithmetic", "absorption"),
    "orthogonal": ("parts", "orthogonal"),
    "sweep": ("parts", "sweep"),
}


class Explorable(Directive):
    """An explorable by its name; its content is what stands there without scripts."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in SCRIPTS:
            raise self.error(f"'{name}' is no explorable: use {', '.join(SCRIPTS)}.")
        still = nodes.container(classes=["still"])
        self.state.nested_parse(self.content, self.content_offset, still)
        start = f'<div class="explorable" data-explorable="{name}">'
        return [_raw(start), still, _raw("</div>")]


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def add_static(_: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(STATIC))


def add_scripts(
    app: Sphinx, _: str, __: str, context: dict[str, Any], ___: Any
) -> None:
    """What the explorables of a page need; of builder "html" alone, not in print."""
    body = context.get("body", "")
    used = [name for name in SCRIPTS if f'data-explorable="{name}"' in body]
    if not used or app.builder.name != "html":
        return
    app.add_css_file("explore/explore.css")
    for script in dict.fromkeys(s for name in used for s in SCRIPTS[name]):
        app.add_js_file(f"explore/{script}.js", loading_method="defer")
    if "sweep" in used:
        numbers = Path(app.srcdir) / "generated" / "explore" / "sweep.json"
        text = numbers.read_text(encoding="utf-8").replace("</", "<\\/")
        context["body"] += f'<script type="application/json" id="sweep">{text}</script>'


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("explorable", Explorable)
    app.connect("config-inited", add_static)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
