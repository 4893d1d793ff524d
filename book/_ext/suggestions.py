"""One number worth changing on each page, said below "Run it yourself".

`book/try.yaml` names it where there is a better one than the first setting of `RAISED`
that all runs of the page's first record share.
"""

from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from book._ext import notebooks, pages
from book._ext.entries import stated
from claimbook.change import Change, settings_of
from claimbook.experiment import Arm

SECTION = "Run it yourself"
SAID = "The same with one number changed; your curves are drawn with those of the book:"
RAISED = {  # setting -> times as much
    "optimizer.lr": 2.0,
    "optimizer.weight_decay": 2.0,
    "dataset.train_fraction": 1.2,
    "epochs": 2.0,
}


def of(page_id: str) -> Change | None:
    """What to change on a page; None where nothing is trained."""
    trained = [plan for plan in pages.experiments(page_id, "laptop") if plan.arms]
    if not trained:
        return None
    if chosen := stated("book/try.yaml").get(page_id):
        return pages.change_of(chosen)
    path, value = _shared(trained[0].arms)
    return Change({path: value})


def _shared(arms: Iterable[Arm]) -> tuple[str, Any]:
    """A setting that has one value in all arms, and another value for it."""
    settings = [settings_of(arm) for arm in arms]
    for path, times in RAISED.items():
        values = {every[path] for every in settings if path in every}
        if len(values) == 1 and (value := values.pop()):
            return path, type(value)(float(f"{times * value:.2g}"))
    return "optimizer.lr", 0.002


def command(page_id: str, change: Change) -> str:
    """What to type to make this change."""
    words = " ".join(f"{path}={value}" for path, value in change.settings.items())
    words = words.replace(", ", ",")  # a blank would end a setting
    arms = "".join(f" ARMS='{pattern}'" for pattern in change.arms)
    return f"make page PAGE={page_id} SCALE=laptop SET='{words}'{arms}"


def write(app: Sphinx, document: nodes.document) -> None:
    """Put the command at the end of a page's section `SECTION`."""
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
