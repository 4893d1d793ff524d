"""One setting worth changing on each page, as a command below "Run it yourself".

`book/try.yaml` names it where there is a better one than the first setting of `RAISED`
that all arms of the page share. A setting that a figure varies is not changed: the same
value everywhere would leave nothing of the figure.
"""

from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx

from book._ext import notebooks, pages
from book._ext.entries import yaml_of
from claimbook.change import Change, settings_of
from claimbook.experiment import Arm

SECTION = "Run it yourself"
SAID = "The same with one number changed; your curves are drawn with those of the book:"
RAISED = {  # setting -> the factor by which it is raised
    "optimizer.lr": 2.0,
    "optimizer.weight_decay": 2.0,
    "dataset.train_fraction": 1.2,
    "epochs": 2.0,
}


def of(page_id: str) -> Change | None:
    """Return the change to suggest on a page.

    It is None if the page trains nothing, or if its arms share no setting of `RAISED`.
    """
    if parameters := yaml_of("book/try.yaml").get(page_id):
        return pages.change_of(parameters)
    experiments = pages.experiments(page_id, "laptop")
    return _raised(arm for experiment in experiments for arm in experiment.arms)


def _raised(arms: Iterable[Arm]) -> Change | None:
    """Return a change of the first setting of `RAISED` that has one value in all arms.

    Arms without the setting do not count. The change is None if there is no such
    setting whose value is not 0.
    """
    settings_by_arm = [settings_of(arm) for arm in arms]
    for setting, factor in RAISED.items():
        values = {s[setting] for s in settings_by_arm if setting in s}
        if len(values) == 1 and (value := values.pop()):
            return Change({setting: type(value)(float(f"{factor * value:.2g}"))})
    return None


def command(page_id: str, change: Change) -> str:
    """Return the shell command that runs a page with a change."""
    words = " ".join(f"{path}={value}" for path, value in change.settings.items())
    words = words.replace(", ", ",")  # a blank would end a setting
    arms = "".join(f" ARMS='{pattern}'" for pattern in change.arms)
    return f"make page PAGE={page_id} SCALE=laptop SET='{words}'{arms}"


def write(app: Sphinx, document: nodes.document) -> None:
    """Append the command to the section ``SECTION`` of a page, for "doctree-read"."""
    path = (app.srcdir / app.env.docname).with_suffix(".py")
    page_id = notebooks.id_of(path)
    if page_id not in pages.sources():
        return
    for section in document.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title and title.astext() == SECTION and (change := of(page_id)):
            code = command(page_id, change)
            section += nodes.paragraph(SAID, SAID)
            section += nodes.literal_block(code, code, language="bash")
