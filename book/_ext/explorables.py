"""Pictures that readers move: a Sphinx extension, and the files that it needs.

    ```{explorable} sweep
    What stands here, a picture and its words, is what a reader without scripts has.
    ```

A page with an explorable loads the scripts and the style of static/explore, no other
page does; one with the sweep also carries its numbers, since a page that is opened
from a disk may not read a second file. `write` makes the numbers and the still pictures
in `book/generated/explore/`.

Not covered: what the scripts compute; tests hold them against torch and the package.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.config import Config

from grokbook.project import home

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STATIC = Path(__file__).parent / "static"
SCRIPTS = {
    "absorption": ("parts", "arithmetic", "absorption"),
    "orthogonal": ("parts", "orthogonal"),
    "sweep": ("parts", "sweep"),
}
TYPES = ("float64", "float32", "float16", "bfloat16")  # as drawn over each other

RECORD = "singh2026/fig05.paper.parquet"
PAGE = "singh2026/fig05"
SETTINGS = (0.5, 0.75, 1, 1.25, 1.5)
RULES = {"fixed": "lr fixed", "divided by α²": "lr/α²"}  # words -> of an arm's name
KINDS = ("train", "test")
PER_DECADE, EVERY = 20, 100


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


def arm(setting: float, rule: str) -> str:
    """The arm of the record with a readout scale; 1 is that without a change."""
    return "No LN" if setting == 1 else f"scale {setting:g}, {rule}"


def kept(epochs: list[int]) -> list[int]:
    """Those of some logged epochs that are drawn: ~20 a decade and every 100th."""
    steps = range(PER_DECADE * math.ceil(math.log10(max(epochs)) + 1))
    spread = {round(10 ** (step / PER_DECADE)) for step in steps}
    return [e for e in epochs if e % EVERY == 0 or e in spread]


def sweep(frame: pd.DataFrame) -> dict[str, Any]:
    """Accuracies of a record in per cent, seed by seed, at the epochs that are kept.

    The epochs are those that every member logged; values have one decimal.
    """
    arms = {rule: [arm(s, word) for s in SETTINGS] for rule, word in RULES.items()}
    names = sorted({name for row in arms.values() for name in row})
    rows = frame[frame.arm.isin(names)].dropna(subset=["test_accuracy"])
    tables = {k: _by_epoch(rows, f"{k}_accuracy") for k in KINDS}
    epochs = kept([int(e) for e in tables["test"].index])
    curves = {
        name: {
            kind: [
                [round(100 * value, 1) for value in table[name, seed].loc[epochs]]
                for seed in sorted(table[name].columns)
            ]
            for kind, table in tables.items()
        }
        for name in names
    }
    return {"settings": SETTINGS, "rules": arms, "epochs": epochs, "arms": curves}


def _by_epoch(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    table = rows.pivot(index="epoch", columns=["arm", "seed"], values=column)
    return table.dropna()


def write() -> list[Path]:
    """The numbers and the verdict of the sweep, and the still pictures; the files."""
    import matplotlib.pyplot as plt
    import pandas as pd

    from grokbook import plots
    from grokbook.records import root

    folder = home() / "book" / "generated" / "explore"
    folder.mkdir(parents=True, exist_ok=True)
    data = sweep(pd.read_parquet(root() / RECORD))
    files = [folder / "sweep.json", folder / "absorption.svg", folder / "sweep.svg"]
    files.append(folder / "verdict.md")
    files[-1].write_text(_verdict(), encoding="utf-8")
    files[0].write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
    plots.use_style()
    for path, picture in zip(files[1:3], (_absorption, _sweep), strict=True):
        with plt.rc_context({"svg.hashsalt": path.stem, "font.size": 12}):
            figure = picture(data)
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            plt.close(figure)
    return files


def _verdict() -> str:
    """What the page of the record found, with its badge and a link."""
    from book._ext.catalogue.entries import entries, named, plain
    from grokbook.claims.verdict import badge

    (entry,) = (e for e in entries() if e.id == PAGE)
    words = f"{entry.label} of {named(entry.paper)}"
    return f"{badge(entry.verdict)} {entry.link(words)}: {plain(entry.title)}.\n"


def _absorption(_: dict[str, Any]) -> Figure:
    """The loss of one sample over its lead, as torch computes it in four types."""
    import matplotlib.pyplot as plt
    import torch

    from grokbook.plots import COLOUR, PURPLE

    figure, axes = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    colours = {"bfloat16": PURPLE} | COLOUR
    leads = torch.arange(0, 45, 0.25, dtype=torch.float64)
    for width, name in zip((6, 4.5, 3, 1.5), TYPES, strict=True):
        logits = torch.stack([leads, torch.zeros_like(leads)], 1)
        losses = torch.nn.functional.cross_entropy(
            logits.to(getattr(torch, name)),
            torch.zeros(len(leads), dtype=torch.long),
            reduction="none",
        )
        seen = losses > 0
        axes.plot(
            leads[seen],
            losses[seen].double(),
            lw=width,
            label=name,
            color=colours[name],
        )
    axes.set(yscale="log", xlabel="lead of the correct logit", ylabel="loss")
    axes.legend(title="not yet exactly 0 in", frameon=False)
    return figure


def _sweep(data: dict[str, Any]) -> Figure:
    """Median test accuracy over epochs, one panel for each rule."""
    import matplotlib.pyplot as plt
    import numpy as np

    from grokbook.plots import shades

    figure, panels = plt.subplots(2, 1, figsize=(4.5, 5.2), layout="constrained")
    for axes, (rule, arms) in zip(panels, data["rules"].items(), strict=True):
        colours = shades(SETTINGS)
        for setting, name in zip(SETTINGS, arms, strict=True):
            median = np.median(data["arms"][name]["test"], axis=0)
            colour = colours[setting]
            axes.plot(
                data["epochs"], median, color=colour, lw=2, label=f"α = {setting}"
            )
        axes.set(title=f"learning rate {rule}", ylabel="test accuracy (%)")
        axes.set(xscale="symlog", xlabel="epoch")
    panels[0].legend(frameon=False)
    return figure


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
