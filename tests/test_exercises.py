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
OPEN = re.compile(r"^(?P<fence>`{3,}|:{3,})\s*(?P<info>\S.*)$")


def blocks(lines):
    """(info, lines inside) of the outermost fences of a Markdown text."""
    lines = iter(lines)
    for line in lines:
        if found := OPEN.match(line):
            close = re.compile(rf"^{found['fence']}{found['fence'][0]}*\s*$")
            inside = []
            for inner in lines:
                if close.match(inner):
                    break
                inside.append(inner)
            else:
                raise ValueError(f"the fence of {found['info']!r} is never closed")
            yield found["info"].strip(), inside


def solutions(text):
    """(label, code) of every solution that has code; fences may lie in fences."""
    found = []
    for info, inside in blocks(text.splitlines()):
        if info.startswith("{solution}"):
            label = info.removeprefix("{solution}").strip()
            code = [lines for kind, lines in blocks(inside) if kind == "python"]
            found += [(label, "\n".join(lines) + "\n") for lines in code]
        elif info.startswith("{"):
            found += solutions("\n".join(inside))
    return found


def of_the_book():
    for page_id, path in pages.sources().items():
        for cell in jupytext.read(path, fmt="py:percent").cells:
            if cell.cell_type == "markdown":
                for place, (label, code) in enumerate(solutions(cell.source)):
                    name = f"{page_id}: {label}, fence {place + 1}"
                    yield pytest.param(page_id, label, code, id=name)


def late(*signal_and_frame):
    raise TimeoutError(f"takes more than {SECONDS} s")


def run(page_id, label, code):
    """Execute a solution; AssertionError with page, label and line where it raises."""
    before = signal.signal(signal.SIGPROF, late)
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


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    """No solution draws in a window or leaves its number format to the next test."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    dtype = torch.get_default_dtype()
    yield
    torch.set_default_dtype(dtype)


@pytest.mark.parametrize(("page_id", "label", "code"), list(of_the_book()))
def test_a_solution_runs_by_itself(page_id, label, code):
    run(page_id, label, code)


def test_every_solution_of_the_book_is_looked_into():
    """Those in another form than a `{solution}` fence would be passed over."""
    other = re.compile(r"\{solution-start\}|\{code-(?:block|cell)\}\s*python")
    for page_id, path in pages.sources().items():
        assert other.findall(path.read_text()) == [], page_id


PLANTED = """\
Some text, and code that is no solution:

```python
1 / 0
```

```{exercise}
:label: ex-one
What is two and two?
```

````{solution} ex-one
:class: dropdown
It is four.

```python
total = 2 + 2

assert total == 4
```

```text
total = 5
```
````

:::::{admonition} More
::::{solution} ex-two
```python
assert "total" not in globals()
print("```")
```
And again:
```python
raise KeyError("planted")
```
::::
:::::
"""


def test_planted_solutions_are_found():
    assert solutions(PLANTED) == [
        ("ex-one", "total = 2 + 2\n\nassert total == 4\n"),
        ("ex-two", 'assert "total" not in globals()\nprint("```")\n'),
        ("ex-two", 'raise KeyError("planted")\n'),
    ]


def test_a_solution_without_code_has_none():
    assert solutions("```{solution} ex-one\nFour.\n```\n") == []


def test_a_fence_that_its_own_code_closes_is_refused():
    text = "```{solution} ex-one\n```python\n2 + 2\n```\n```\n"
    with pytest.raises(ValueError, match="the fence of 'python' is never closed"):
        solutions(text)


def test_planted_solutions_run_or_are_named(capsys):
    one, two, three = solutions(PLANTED)
    run("prieto2025/fig01", *one)
    run("prieto2025/fig01", *two)
    assert capsys.readouterr().out == ""
    with pytest.raises(AssertionError) as error:
        run("prieto2025/fig01", *three)
    said = "page prieto2025/fig01, solution ex-two: KeyError: 'planted'"
    assert str(error.value) == said


def test_a_solution_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(f"{__name__}.SECONDS", 0.1)
    with pytest.raises(AssertionError, match=r"takes more than 0\.1 s"):
        run("prieto2025/fig01", "ex-long", "while True:\n    pass\n")


def test_solutions_draw_the_same_numbers_each_time():
    code = "import torch\nassert torch.rand(1) == torch.rand(1, generator=G)\n"
    seeded = code.replace("G", "torch.Generator().manual_seed(0)")
    run("prieto2025/fig01", "ex-seed", seeded)
    run("prieto2025/fig01", "ex-seed", seeded)
