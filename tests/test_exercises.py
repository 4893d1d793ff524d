"""Solutions that are code run by themselves: a reader may paste any of them.

Each ```python fence inside a `{solution}` is executed in a namespace of its own, with
torch seeded, and takes less than `SECONDS` of processor time.
"""

import contextlib
import io
import re
import signal

import jupytext
import pytest
import torch

from book._ext import pages

SECONDS = 5
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


def late(*signal_and_frame):
    raise TimeoutError(f"takes more than {SECONDS} s")


def run(page_id, label, code):
    """Execute a solution; AssertionError with page, label and line where it raises."""
    before, dtype = signal.signal(signal.SIGPROF, late), torch.get_default_dtype()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with torch.random.fork_rng(), contextlib.redirect_stdout(io.StringIO()):
            torch.manual_seed(0)
            exec(compile(code, f"<{label}>", "exec"), {"__name__": "__main__"})
    except Exception as error:
        kind = type(error).__name__
        said = f"page {page_id}, solution {label}: {kind}: {error}"
        raise AssertionError(said) from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
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


PLANTED = """\
```python
1 / 0
```

````{solution} ex-one
```python
total = 2 + 2
```
````

:::::{admonition} More
::::{solution} ex-two
```python
raise KeyError("planted")
```
::::
:::::
"""


def test_planted_solutions_run_or_are_named(monkeypatch):
    one, two = solutions(PLANTED)
    run("prieto2025/fig01", *one)
    with pytest.raises(AssertionError) as error:
        run("prieto2025/fig01", *two)
    said = "page prieto2025/fig01, solution ex-two: KeyError: 'planted'"
    assert str(error.value) == said
    with pytest.raises(AssertionError, match="never closed"):
        solutions(PLANTED.replace("::::\n:::::", ":::::"))
    monkeypatch.setattr(f"{__name__}.SECONDS", 0.1)
    with pytest.raises(AssertionError, match=r"takes more than 0\.1 s"):
        run("prieto2025/fig01", "ex-long", "while True:\n    pass\n")
