"""What a source says of its cells: the `#|` lines, and the title of the page."""

import pytest
from nbformat import v4

from book._ext import notebooks, options, pages
from grokbook.errors import PageError

LINES = """\
#| name: fig-prieto2025-04
#| caption: >
#|   StableMax groks: test accuracy
#|   over epochs (a).
#| alt: "Two curves: both rise."
#| fold: "Code: draw the figure"
figure = 1
"""


def source(tmp_path, cell=LINES, line='# %% tags=["hide-input"]'):
    """A page with this as its second cell, its path as in the book."""
    path = tmp_path / "prieto2025" / "fig04_words.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# %% [markdown]\n# # A title\n\n{line}\n{cell}")
    return path


def described(tmp_path, *given):
    cell = notebooks.read_source(source(tmp_path, *given)).cells[1]
    return cell.metadata.get("mystnb")


def test_the_lines_at_the_top_of_a_cell_become_its_metadata(tmp_path):
    cell = notebooks.read_source(source(tmp_path)).cells[1]
    assert cell.metadata == {
        "tags": ["hide-input"],
        "mystnb": {
            "figure": {
                "name": "fig-prieto2025-04",
                "caption": "StableMax groks: test accuracy over epochs (a).",
            },
            "image": {"alt": "Two curves: both rise."},
            "code_prompt_show": "Code: draw the figure",
            "code_prompt_hide": "Hide code",
        },
    }
    assert cell.source == LINES.strip()


def test_metadata_on_the_line_of_the_cell_stay(tmp_path):
    line = '# %% tags=["hide-input"] mystnb={"figure": {"name": "a", "caption": "b"}}'
    cell = '#| caption: c\n#| fold: "Code: d"\n1\n'
    assert described(tmp_path, "1\n", line) == {"figure": {"name": "a", "caption": "b"}}
    assert described(tmp_path, cell, line) == {
        "figure": {"name": "a", "caption": "c"},
        "code_prompt_show": "Code: d",
        "code_prompt_hide": "Hide code",
    }


def test_a_cell_without_lines_has_no_metadata(tmp_path):
    assert described(tmp_path, "# a comment\n1\n") is None
    text = v4.new_markdown_cell("#| no: code")
    options.apply(text, "Cell 0")
    assert text.metadata == {}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("#| caption: The finding: it works\n", "not YAML from line 1 on: put a text"),
        ("#| alt: 'open\n", "not YAML from line"),
        ("#| caption\n", "has '#|' lines that are not 'key: value'"),
        ("#|\n", "has '#|' lines that are not 'key: value'"),
        ("#| title: A\n", "the unknown key 'title' in its '#|' lines: they take name,"),
        ("#| alt: 5\n", "has '#| alt' without words: 5"),
        ("#| alt:\n", "has '#| alt' without words: None"),
        ("#| alt: [a]\n", "has '#| alt' without words"),
        ("#| alt: a\n#| alt: b\n", "has the same key twice"),
        ("1\n#| alt: a\n", "has '#|' lines below its top"),
    ],
)
def test_lines_that_say_nothing_known_are_one_sentence(tmp_path, lines, said):
    with pytest.raises(PageError) as error:
        described(tmp_path, lines + "1\n")
    told = str(error.value)
    assert said in told
    assert told.startswith("Cell 1 of ")
    assert "prieto2025/fig04_words.py has" in told
    assert "\n" not in told


def test_a_fold_of_a_cell_that_nothing_folds_is_refused(tmp_path):
    with pytest.raises(PageError, match="no tag hide-input folds it"):
        described(tmp_path, "#| fold: Code\n1\n", '# %% tags=["remove-input"]')


def test_the_twin_says_what_its_source_says(tmp_path, monkeypatch):
    path = tmp_path / "book/prieto2025/fig04_words.py"
    path.parent.mkdir(parents=True)
    parameters = '# %% tags=["parameters"]\nscale = "best"\n\n'
    head = "# %% [markdown]\n# # A title\n\n"
    path.write_text(f'{head}{parameters}# %% tags=["hide-input"]\n{LINES}')
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    pages.execute(["prieto2025/fig04"])
    pair = notebooks.read_source(path), notebooks.read_twin(path)
    told = [[dict(cell.metadata) for cell in one.cells] for one in pair]
    assert told[0] == told[1]
    assert told[0][2]["mystnb"]["image"]["alt"] == "Two curves: both rise."


@pytest.mark.parametrize(
    ("title", "told"),
    [
        (
            "# [Prieto et al. 2025 · Figure 4]{.kicker} StableMax groks (early)",
            ("Prieto et al. 2025 · Figure 4", "StableMax groks (early)"),
        ),
        (
            "# [A · Table 1]{.kicker}  The [sum](x.md) holds \n\nMore",
            ("A · Table 1", "The [sum](x.md) holds"),
        ),
        ("# Two and two", ("", "Two and two")),
        ("# [A]{.other} B", ("", "[A]{.other} B")),
        ("# [A]{.kicker}", ("", "[A]{.kicker}")),
        ("", ("", "")),
    ],
)
def test_the_title_of_a_page(title, told):
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(title)])
    assert notebooks.heading(notebook) == told


def test_a_page_without_cells_has_no_title():
    assert notebooks.heading(v4.new_notebook()) == ("", "")
