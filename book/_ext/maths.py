"""Ship MathJax with the book, so that formulas are drawn without a network.

A Sphinx extension, named in _config.yml. The package sphinx-mathjax-offline brings the
whole of MathJax (24 MB). The SVG bundle is one file that holds its glyphs, so this file
is all that a page ever loads.
"""

from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset

BUNDLE = "tex-svg-full.js"


def copy_bundle(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        found = find_spec("sphinx-mathjax-offline")
        if found is None or found.origin is None:
            raise ExtensionError("sphinx-mathjax-offline is missing: pip install it")
        source = Path(found.origin).parent / "static" / "mathjax" / BUNDLE
        copy_asset(str(source), str(Path(app.outdir) / "_static"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.config.mathjax_path = BUNDLE
    # Definitions bring formulas to pages without any of their own. `site.access` takes
    # MathJax from those that have none at all.
    app.set_html_assets_policy("always")
    app.connect("build-finished", copy_bundle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
