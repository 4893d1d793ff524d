"""How large the book's code is, in tokens, which joining lines cannot change.

The limits are what there was on 29 November 2026, and a little. They go down when
something is taken away; whoever raises one says in the commit for which readers.
"""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KINDS = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)


def tokens(path):
    """How many tokens a file has without comments, docstrings and Markdown."""
    text = path.read_text(encoding="utf-8")
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    lines_of_docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    return sum(
        token.type in KINDS and token.start[0] not in lines_of_docstrings
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def total(*patterns):
    return sum(tokens(path) for one in patterns for path in ROOT.glob(one))


@pytest.mark.parametrize(
    ("patterns", "limit"),
    [
        (["src/grokbook/**/*.py"], 32_030),
        (["src/claimbook/**/*.py"], 48_560),
        (["tests/*.py"], 146_850),
        (["book/*.py", "book/_ext/*.py"], 38_378),
    ],
)
def test_no_part_grows_unseen(patterns, limit):
    assert 0.9 * limit < total(*patterns) < limit


def test_a_page_does_not_grow_in_the_mean():
    pages = [path.with_suffix(".py") for path in ROOT.glob("book/*/*.ipynb")]
    assert sum(map(tokens, pages)) / len(pages) < 1_740


def test_packing_does_not_make_it_smaller(tmp_path):
    plain = 'def f(x):\n    """Twice."""\n    # so\n    y = x + x\n    return y\n'
    packed = "def f(x): y = x + x; return y\n"
    counts = []
    for text in (plain, packed):
        (tmp_path / "code.py").write_text(text)
        counts.append(tokens(tmp_path / "code.py"))
    assert counts == [13, 14]
