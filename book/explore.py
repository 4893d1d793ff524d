"""What the explorables need: the numbers of the recorded sweep, and still pictures.

The scripts are in _ext/static, and explore.md loads them; tests hold what they compute
against torch and the package. The sweep is that of the scale of the unembedding in
Figure 5 of Singh et al. (2026).
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from book import ideas
from book._ext import notebooks, pages
from book._ext.entries import Entry, folder_name, plain, write_if_changed
from claimbook import papers, plots
from claimbook.claims.verdict import badge
from claimbook.plots import COLOUR, PURPLE, shades

TYPES = ("float64", "float32", "float16", "bfloat16")  # as drawn over each other
PAGE = "singh2026/fig05"
SCALES = (0.5, 0.75, 1, 1.25, 1.5)
RULES = {"fixed": "lr fixed", "divided by α²": "lr/α²"}  # words -> in an arm's name
SPLITS = ("train", "test")
PER_DECADE, EVERY = 20, 100  # epochs that are drawn


def arm(scale: float, rule: str) -> str:
    """Return the arm of the record with a readout scale; 1 is the unchanged network."""
    return "No LN" if scale == 1 else f"scale {scale:g}, {rule}"


def kept(epochs: list[int]) -> list[int]:
    """Return those logged epochs that are drawn: ~20 a decade, and every 100th."""
    steps = range(PER_DECADE * math.ceil(math.log10(max(epochs)) + 1))
    spread = {round(10 ** (step / PER_DECADE)) for step in steps}
    return [epoch for epoch in epochs if epoch % EVERY == 0 or epoch in spread]


def sweep(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the accuracies of a record as JSON, in per cent with one decimal.

    "epochs" are those of `kept` that every member logged. "arms" has by arm and split a
    list for each seed, with a value for each epoch; "rules" has the arms by the scales
    of "settings".
    """
    arms = {words: [arm(s, rule) for s in SCALES] for words, rule in RULES.items()}
    names = sorted({name for row in arms.values() for name in row})
    rows = frame[frame.arm.isin(names)].dropna(subset=["test_accuracy"])
    # (epochs, members) each
    tables = {split: _by_epoch(rows, f"{split}_accuracy") for split in SPLITS}
    epochs = kept([int(epoch) for epoch in tables["test"].index])
    curves = {
        name: {
            split: [
                [round(100 * value, 1) for value in table[name, seed].loc[epochs]]
                for seed in sorted(table[name].columns)
            ]
            for split, table in tables.items()
        }
        for name in names
    }
    return {"settings": SCALES, "rules": arms, "epochs": epochs, "arms": curves}


def _by_epoch(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a row for each epoch that all members have, a column per (arm, seed)."""
    table = rows.pivot(index="epoch", columns=["arm", "seed"], values=column)
    return table.dropna()


def recorded() -> pd.DataFrame:
    """Return the rows of the sweep as it was recorded."""
    return papers.record(PAGE, scale="paper").frame


def write(folder: Path) -> None:
    """Write the numbers and the verdict of the sweep, and the still pictures."""
    data = sweep(recorded())
    numbers = json.dumps(data, separators=(",", ":"))
    # in the page, as a page that is opened from a disk cannot read another file
    script = f'<script type="application/json" id="sweep">{numbers}</script>'
    write_if_changed(folder / "sweep.md", f"{script}\n")
    write_if_changed(folder / "verdict.md", _verdict())
    plots.use_style()
    ideas.save_svg(folder / "absorption.svg", _absorption)
    ideas.save_svg(folder / "sweep.svg", lambda: _sweep(data))
    ideas.save_svg(folder / "trainer.svg", _trainer)


def _verdict() -> str:
    """Return the finding of the page in Markdown, with its badge and a link."""
    path = pages.find(PAGE)
    entry = Entry(PAGE, path, notebooks.read_twin(path))
    link = entry.link(f"{entry.label} of {folder_name(entry.paper)}")
    return f"{badge(entry.closing['verdict'])} {link}: {plain(entry.title)}.\n"


def _absorption() -> Figure:
    """Draw the loss of one sample over its lead, as torch computes it in four types."""
    figure, (axes,) = ideas.panels(1, 3.4)
    colours = {"bfloat16": PURPLE} | COLOUR
    leads = torch.arange(0, 45, 0.25, dtype=torch.float64)
    logits = torch.stack([leads, torch.zeros_like(leads)], 1)  # (leads, 2 classes)
    labels = torch.zeros(len(leads), dtype=torch.long)
    for width, name in zip((6, 4.5, 3, 1.5), TYPES, strict=True):
        losses = torch.nn.functional.cross_entropy(
            logits.to(getattr(torch, name)), labels, reduction="none"
        )
        is_kept = losses > 0
        axes.plot(
            leads[is_kept],
            losses[is_kept].double(),
            lw=width,
            label=name,
            color=colours[name],
        )
    axes.set(yscale="log", xlabel="lead of the correct logit", ylabel="loss")
    axes.legend(loc="best", title="not yet exactly 0 in", frameon=False)
    return figure


def _sweep(data: dict[str, Any]) -> Figure:
    """Draw median test accuracy over epochs, one panel for each rule.

    ``data`` is what `sweep` returns.
    """
    figure, panels = ideas.panels(2, 2.6)
    colours = shades(SCALES)
    for axes, (rule, arms) in zip(panels, data["rules"].items(), strict=True):
        for scale, name in zip(SCALES, arms, strict=True):
            median = np.median(data["arms"][name]["test"], axis=0)  # over seeds
            style: dict[str, Any] = {"color": colours[scale], "lw": 2}
            axes.plot(data["epochs"], median, label=f"α = {scale}", **style)
        axes.set(title=f"learning rate {rule}", ylabel="test accuracy (%)")
        axes.set(xscale="symlog", xlabel="epoch")
    panels[0].legend(loc="best", frameon=False)
    return figure


def _trainer() -> Figure:
    """Draw accuracies of the first chapter's network, with weight decay and without.

    They are those of its first seed.
    """
    figure, (axes,) = ideas.panels(1, 3.4)
    frame = papers.record("basics/grokking", scale="paper").frame
    frame = frame[frame.seed == frame.seed.min()].dropna(subset=["test_accuracy"])
    colours = {"decay 1": COLOUR["weight decay"], "no decay": COLOUR["baseline"]}
    for name, colour in colours.items():
        rows = frame[frame.arm == name]
        for split, line in (("train", "--"), ("test", "-")):
            percent = 100 * rows[f"{split}_accuracy"]
            label = f"{name}, {split}"
            axes.plot(rows.epoch, percent, line, color=colour, label=label)
    axes.set(xscale="symlog", xlabel="epoch", ylabel="accuracy (%)")
    axes.legend(loc="best", frameon=False)
    return figure
