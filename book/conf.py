"""The book by plain Sphinx, without Jupyter Book: `make sphinx`.

It reads the same _config.yml and _toc.yml, so that a setting stands in one place.
"""

import sys
from pathlib import Path

import yaml

HOME = Path(__file__).resolve().parents[1]
CONFIG = yaml.safe_load((HOME / "_config.yml").read_text(encoding="utf-8"))
SPHINX = CONFIG["sphinx"]
sys.path[:0] = [str(HOME), str(HOME / "src")]

extensions = ["myst_nb", "sphinx_book_theme", "sphinx_copybutton"]
extensions += ["sphinx_togglebutton", "sphinx_external_toc", "sphinxcontrib.bibtex"]
extensions += [*SPHINX["extra_extensions"], *SPHINX["local_extensions"]]
external_toc_path = str(HOME / "_toc.yml")
external_toc_exclude_missing = CONFIG["only_build_toc_files"]
exclude_patterns = CONFIG["exclude_patterns"]

project = html_title = CONFIG["title"]
author = CONFIG["author"]
copyright = CONFIG["copyright"]
html_logo = CONFIG["logo"]
html_favicon = CONFIG["html"]["favicon"]
html_theme = "sphinx_book_theme"
html_sourcelink_suffix = ""
bibtex_bibfiles = CONFIG["bibtex_bibfiles"]
myst_enable_extensions = CONFIG["parse"]["myst_enable_extensions"]
nb_execution_mode = CONFIG["execute"]["execute_notebooks"]

extra_footer = {"extra_footer": CONFIG["html"]["extra_footer"]}
html_theme_options = SPHINX["config"].pop("html_theme_options") | extra_footer
globals().update(SPHINX["config"])
