"""What the explorables need: the numbers of the recorded sweep, and still pictures.

The scripts are in _ext/static, and explore.md loads them; tests hold what they compute
against torch and the package.
"""

import json
import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from book._ext import notebooks, pages
from book._ext.entries import Entry, named, plain, update
from claimbook import papers, plots
from claimbook.claims.verdict import badge
from claimbook.plots import COLOUR, PURPLE, shades

TYPES = ("float64", "float32", "float16", "bfloat16")  # as drawn over each other
PAGE = "singh2026/fig05"
SETTINGS = (0.5, 0.75, 1, 1.25, 1.5)
RULES = {"fixed": "lr fixed", "divided by α²": "lr/α²"}  # words -> of an arm's name
KINDS = ("train", "test")
PER_DECADE, EVERY = 20, 100


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


def recorded() -> pd.DataFrame:
    """The rows of the sweep as it was recorded."""
    return papers.record(PAGE, scale="paper").frame


def write(folder: Path) -> None:
    """The numbers and the verdict of the sweep, and the still pictures."""
    data = sweep(recorded())
    numbers = json.dumps(
        data, separators=(",", ":")
    )  # a page from a disk reads no file
    script = f'<script type="application/json" id="sweep">{numbers}</script>'
    update(folder / "sweep.md", f"{script}\n")
    update(folder / "verdict.md", _verdict())
    plots.use_style()
    pictures = {"absorption": _absorption, "sweep": _sweep, "trainer": _trainer}
    for name, picture in pictures.items():
        with plt.rc_context({"svg.hashsalt": name, "font.size": 12}):
            figure = picture(data)
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            plt.close(figure)


def _verdict() -> str:
    """What the page of the record found, with its badge and a link."""
    path = pages.find(PAGE)
    entry = Entry(PAGE, path, notebooks.read_twin(path))
    words = entry.link(f"{entry.label} of {named(entry.paper)}")
    return f"{badge(entry.carried['verdict'])} {words}: {plain(entry.title)}.\n"


def _absorption(_: dict[str, Any]) -> Figure:
    """The loss of one sample over its lead, as torch computes it in four types."""

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
    axes.legend(loc="best", title="not yet exactly 0 in", frameon=False)
    return figure


def _sweep(data: dict[str, Any]) -> Figure:
    """Median test accuracy over epochs, one panel for each rule."""

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
    panels[0].legend(loc="best", frameon=False)
    return figure


def _trainer(_: dict[str, Any]) -> Figure:
    """Accuracies of the first chapter's network, of one seed with decay and without."""

    figure, axes = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    frame = papers.record("basics/grokking", scale="paper").frame
    frame = frame[frame.seed == frame.seed.min()].dropna(subset=["test_accuracy"])
    arms = {"decay 1": COLOUR["weight decay"], "no decay": COLOUR["baseline"]}
    for arm, colour in arms.items():
        rows = frame[frame.arm == arm]
        for kind, line in (("train", "--"), ("test", "-")):
            seen = 100 * rows[f"{kind}_accuracy"]
            axes.plot(rows.epoch, seen, line, color=colour, label=f"{arm}, {kind}")
    axes.set(xscale="symlog", xlabel="epoch", ylabel="accuracy (%)")
    axes.legend(loc="best", frameon=False)
    return figure
