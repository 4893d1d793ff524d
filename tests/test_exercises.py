"""Solutions that are code run by themselves: a reader may paste any of them."""

import contextlib
import io
import re

import jupytext
import pytest
import torch

from book._ext import pages

SOLUTION = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{solution\} (?P<label>\S+)$(?P<inside>.*?)^(?P=fence)$",
    re.M | re.S,
)
CODE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def solutions(text):
    """(label, code) of every solution that has code; fences may lie in fences."""
    found = list(SOLUTION.finditer(text))
    assert len(found) == text.count("{solution}"), "a solution is never closed"
    codes = ((one["label"], CODE.findall(one["inside"])) for one in found)
    return [(label, code) for label, every in codes for code in every]


def run(page_id, label, code):
    """Execute a solution; AssertionError with page, label and line where it raises."""
    dtype = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(), contextlib.redirect_stdout(io.StringIO()):
            torch.manual_seed(0)
            exec(compile(code, f"<{label}>", "exec"), {"__name__": "__main__"})
    except Exception as error:
        kind = type(error).__name__
        said = f"page {page_id}, solution {label}: {kind}: {error}"
        raise AssertionError(said) from error
    finally:
        torch.set_default_dtype(dtype)


@pytest.mark.parametrize("page_id", pages.sources())
def test_the_solutions_of_a_page_run_by_themselves(page_id, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = pages.find(page_id).read_text(encoding="utf-8")
    other = r"\{solution-start\}|\{code-(?:block|cell)\}\s*python"
    assert re.findall(other, text) == []  # forms that would be passed over
    for cell in jupytext.reads(text, fmt="py:percent").cells:
        if cell.cell_type == "markdown":
            for label, code in solutions(cell.source):
                run(page_id, label, code)
