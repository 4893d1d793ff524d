# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 1: Layer norm before the MLP brings generalisation far forward; fits come in another order (reproduced)
#
# **Claim.** {term}`Layer norm <layer norm>` (LN) at three places of a one-layer
# transformer, the input of the MLP (1), of queries and keys (2) and of values (3),
# changes when it generalises about fivefold, and that is not the order in which the
# variants fit their training set {cite:p}`singh2026`. **Here.** The four variants at the
# paper's settings, so far with the first of its five {term}`seeds <seed>`. Beside them,
# ours, on a smaller task: ReLU, which the paper names but did not run, and the loss in
# float32, which it avoids. **What came out.** Both orders are the paper's. From M to No
# LN it is a factor of twelve instead of five, since M is earlier here than in any of the
# authors' five runs. On the smaller task A\* is last, and a float32 loss without LN
# brings slingshots that float64 does not have.

# %% [markdown]
# ## What was run
#
# The runs are those of [Figure 2](fig02_norm_positions.ipynb). One {term}`seed` sets the split
# of the table, which is the authors', and the start, which is drawn from their
# distributions but not bit by bit theirs.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import math

import pandas as pd
import torch
from IPython.display import display
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Patch

from grokbook import claims, evidence, plots, records, tables
from grokbook.experiment import SCALES
from grokbook.papers.singh2026 import CODE, PAPER

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
wanted = SCALES if scale == "best" else (scale,)


def there(name):
    return retrain or any(records.path_of(name, one).exists() for one in wanted)


central = evidence.record("singh2026/fig02", arms=("M", "M+A*", "A*", "No LN"), **page)
# ours, and optional
RELU, FLOAT32 = "singh2026/fig02relu", "singh2026/fig02float32"
relu = evidence.record(RELU, **page) if there(RELU) else None
float32 = evidence.record(FLOAT32, **page) if there(FLOAT32) else None
# what both are compared with, at their own scale
small, partner = central, relu or float32 or central
stored = records.path_of("singh2026/fig02", partner.scale).exists()
if partner.scale != central.scale and stored:
    small = evidence.record("singh2026/fig02", scale=partner.scale)
every = [one for one in (central, small, relu, float32) if one]
every = list({(one.name, one.scale): one for one in every}.values())

# %% tags=["hide-input"]
tables.settings(
    central,
    paper=PAPER,
    code=CODE,
    notes={
        "dataset.shuffle": "Python's generator, as in the code: the same split",
        "model.activation": "as run; ReLU below",
        "loss.dtype": "as run; float32 below",
    },
)

# %% tags=["hide-input"]
for one in every:
    display(tables.arms(one))

# %% [markdown]
# ## The idea in code
#
# With $x$ the three embedded tokens $a$, $b$ and $=$, one block computes
#
# $$
# y = x + \mathrm{MHSA}(x^{QK}, x^{QK}, x^{V}), \qquad
# o = W_U \left( y_3 + W_2\, \sigma(W_1 u + b_1) + b_2 \right),
# $$
#
# and a variant is the choice of what is normalised: $u$ is $y_3$ or $\mathrm{LN}(y_3)$ at
# (1), $x^{QK}$ and $x^V$ are $x$ or $\mathrm{LN}(x)$ at (2) and (3). LN removes the length
# of a vector. So the question of the paper becomes: which parts of the network can still
# see how long an embedding is? The lines below double all embeddings of an untrained block
# with one head and print what becomes of scores, values and MLP input.

# %%
width = 128
torch.manual_seed(0)
WQ, WK, WV, WO = torch.randn(4, width, width, dtype=torch.float64) / math.sqrt(width)
x = torch.randn(3, width, dtype=torch.float64) / math.sqrt(width)


def norm(z):
    return (z - z.mean(-1, keepdim=True)) / z.std(-1, correction=0, keepdim=True)


def block(x, at):
    """Scores, values and MLP input of one block with LN at the places ``at``."""
    qk = norm(x) if 2 in at else x
    v = norm(x) if 3 in at else x
    scores = (qk @ WQ) @ (qk @ WK).T / math.sqrt(width)
    values = v @ WV @ WO
    y = x + scores.softmax(-1) @ values
    u = norm(y) if 1 in at else y
    return scores, values, u


VARIANTS = {
    "No LN": (),
    "A*": (2, 3),
    "M+A*": (1, 2, 3),
    "M": (1,),
    "A^qk": (2,),
    "A^v": (3,),
}
print("x doubled:       LN at   scores   values   MLP input")
for name, at in VARIANTS.items():
    factors = [
        float(after.norm() / before.norm())
        for before, after in zip(block(x, at), block(2 * x, at), strict=True)
    ]
    print(f"{name:>12}{at!s:>12}" + "".join(f"{f:8.2f}×" for f in factors))

# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Left: one block and the three places of LN. Right: first logged epoch with a loss of at most 0.01 on test and training set, on a logarithmic axis. Bars are medians over seeds, dots single seeds; a hatched bar means not within the run. At the paper's scale, diamonds are the authors' logs: crossing of the mean over 5 seeds, with a line from the fastest to the slowest seed.", "name": "fig-singh2026-01"}, "image": {"alt": "Left, a diagram: embedded tokens go to queries and keys through a circle 2, to values through a circle 3, attention and a sum, then through a circle 1 into the MLP, a second sum and the unembedding. Right, a bar chart with test and train bars for M, M+A star, A star and No LN on a logarithmic axis of epochs: test bars rise from left to right, train bars do not."}}
ORDER = ("M", "M+A*", "A*", "No LN")
FIT = ("A*", "M+A*", "M", "No LN")
PLACES = {"M": "(1)", "M+A*": "(1,2,3)", "A*": "(2,3)", "No LN": "—"}
# (mean curve, fastest seed, slowest seed) for test and train, from the authors' logs
LOGS = {
    "M": {"test": (1425, 809, 2055), "train": (231, 222, 237)},
    "M+A*": {"test": (3525, 2360, 3934), "train": (214, 211, 215)},
    "A*": {"test": (7157, 3647, 7274), "train": (148, 122, 173)},
    "No LN": {"test": (7807, 6328, 7935), "train": (317, 282, 349)},
}
TEST, TRAIN = plots.BLUE, plots.YELLOW


def crossing(record, arm, split):
    """First logged epoch with a loss of at most 0.01, by seed."""
    return claims.first_epoch(record, arm, f"{split}_loss", falls_to=0.01)


def horizon(record):
    return max(arm.epochs for arm in record.experiment.arms)


def bar(axes, place, values, end, *, color, width):
    """Median as a bar, seeds as dots; hatched to the end of the run if it is never."""
    middle = claims.median(values)
    never = math.isinf(middle)
    axes.bar(
        place,
        end if never else middle,
        width,
        color="white" if never else color,
        edgecolor=color if never else "white",
        hatch="////" if never else None,
        alpha=1 if never else 0.85,
        zorder=2,
    )
    found = [v for v in values.values() if math.isfinite(v)]
    spread = [
        place + width * 0.12 * (k - (len(found) - 1) / 2) for k in range(len(found))
    ]
    axes.plot(
        spread, found, "o", ms=3.5, color=plots.BLACK, mec="white", mew=0.4, zorder=4
    )


def box(axes, x, y, words, *, width=3.0, color="#F1F1F1"):
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - 0.42),
            width,
            0.84,
            boxstyle="round,pad=0.02,rounding_size=0.15",
            facecolor=color,
            edgecolor=plots.BLACK,
            lw=1,
            zorder=3,
        )
    )
    axes.text(x, y, words, ha="center", va="center", fontsize=9, zorder=4)


def arrow(axes, *points):
    """A line through the points with a head at its end."""
    for start, end in zip(points[:-2], points[1:-1], strict=True):
        axes.plot(*zip(start, end, strict=True), color=plots.BLACK, lw=1.1, zorder=1)
    style = {"arrowstyle": "-|>", "color": plots.BLACK, "lw": 1.1, "shrinkA": 0}
    axes.annotate(
        "", points[-1], points[-2], arrowprops=style | {"shrinkB": 0}, zorder=1
    )


def place_of_norm(axes, x, y, number):
    axes.add_patch(
        Circle((x, y), 0.4, facecolor=plots.RED, edgecolor="white", zorder=5)
    )
    axes.text(
        x,
        y - 0.03,
        number,
        color="white",
        ha="center",
        va="center",
        weight="bold",
        zorder=6,
    )


def schematic(axes):
    """The block from below to above, with the three places where LN can sit."""
    axes.set(xlim=(-1.2, 9.2), ylim=(-0.7, 12.1), aspect="equal")
    axes.set_axis_off()
    box(axes, 3.5, 0, r"$x = W_E\,t + \rho$", width=3.6)
    arrow(axes, (3.5, 0.42), (3.5, 1.1), (1.7, 1.1), (1.7, 3.0))
    arrow(axes, (3.5, 1.1), (5.3, 1.1), (5.3, 3.0))
    axes.text(1.1, 1.85, "queries,\nkeys", fontsize=8.5, va="center", ha="right")
    axes.text(5.85, 1.85, "values", fontsize=8.5, va="center", ha="left")
    place_of_norm(axes, 1.7, 1.85, 2)
    place_of_norm(axes, 5.3, 1.85, 3)
    box(axes, 3.5, 3.42, "attention", width=5.0, color="#DCEAF4")
    arrow(axes, (3.5, 3.84), (3.5, 4.85))
    arrow(axes, (5.3, 0), (8.2, 0), (8.2, 5.2), (3.85, 5.2))
    axes.text(3.5, 5.2, r"$\oplus$", ha="center", va="center", fontsize=15, zorder=4)
    axes.text(2.9, 5.3, r"$y$", ha="right", fontsize=10)
    arrow(axes, (3.5, 5.55), (3.5, 7.6))
    place_of_norm(axes, 3.5, 6.75, 1)
    box(axes, 3.5, 8.02, "MLP", color="#F7E6C6")
    arrow(axes, (3.5, 8.44), (3.5, 9.35))
    arrow(axes, (3.5, 5.95), (8.2, 5.95), (8.2, 9.7), (3.85, 9.7))
    axes.text(3.5, 9.7, r"$\oplus$", ha="center", va="center", fontsize=15, zorder=4)
    arrow(axes, (3.5, 10.05), (3.5, 11.0))
    box(axes, 3.5, 11.42, r"logits $W_U z$", width=3.6)
    axes.text(8.5, 7.8, "skip", fontsize=8.5, rotation=90, va="center", color="#555555")
    axes.text(8.5, 2.6, "skip", fontsize=8.5, rotation=90, va="center", color="#555555")


trained = [arm for arm in ORDER if central.seeds(arm)]
figure, (left, right) = plots.panels(2, height=4.5, width_ratios=(0.8, 1.2))
schematic(left)
end = horizon(central)
for position, arm in enumerate(trained):
    for split, shift, color in (("test", -0.2, TEST), ("train", 0.2, TRAIN)):
        place = position + shift
        bar(right, place, crossing(central, arm, split), end, color=color, width=0.38)
        if central.scale == "paper":
            mean, fastest, slowest = LOGS[arm][split]
            place += 0.13
            right.plot(
                [place] * 2, [fastest, slowest], color=plots.RED, lw=1.4, zorder=3
            )
            right.plot(place, mean, "D", ms=5, color=plots.RED, mec="white", zorder=5)
right.axhline(end, color="#888888", lw=1, ls=":")
right.text(-0.45, end, "end of run", fontsize=8.5, color="#555555", va="bottom")
right.set(yscale="log", ylabel="first epoch with loss ≤ 0.01")
right.set_xticks(range(len(trained)), [f"{arm}\n{PLACES[arm]}" for arm in trained])
right.set_xlabel("variant and places of LN")
lowest = min(min(crossing(central, arm, "train").values()) for arm in trained)
right.set_ylim(min(lowest, end) / 2, 1.6 * end)
right.grid(axis="x", visible=False)
handles = [Patch(color=TEST, label="test"), Patch(color=TRAIN, label="train")]
handles += [
    Line2D([], [], marker="o", ls="", ms=4, color=plots.BLACK, label="one seed")
]
if central.scale == "paper":
    words = "authors' logs, 5 seeds"
    handles += [Line2D([], [], marker="D", ms=5, color=plots.RED, label=words)]
right.legend(
    handles=handles,
    ncols=2,
    loc="upper center",
    bbox_to_anchor=(0.5, -0.24),
    columnspacing=1,
)
plots.letter(
    [left, right], ["one block, LN at 1, 2, 3", "when it fits, when it generalises"]
)
figure.show()

# %% [markdown]
# The same in numbers. The paper takes the mean of the loss over seeds and asks when that
# crosses 0.01; a single seed that lags keeps a mean high, so the median of the
# crossings stands first here.


# %% tags=["hide-input"]
def described(values):
    middle, span = claims.summary(values)
    inner = f", {span}" if len(values) > 1 else ""
    return f"{middle} (n = {len(values)}{inner})"


def of_mean(record, arm, split):
    return claims.first_epoch_of_mean(record, arm, f"{split}_loss", falls_to=0.01)


def as_multiple(part, whole):
    return f"{part / whole:.1f}" if math.isfinite(part) else "—"


head = ["", "test", "of the mean curve", "times M", "authors' logs", "times M", "train"]
head += ["authors' logs"]
lines = []
for arm in trained:
    test, train = (crossing(central, arm, split) for split in ("test", "train"))
    first = (
        claims.median(crossing(central, "M", "test")) if "M" in trained else math.nan
    )
    lines.append(
        [
            arm,
            described(test),
            claims.words(of_mean(central, arm, "test")),
            as_multiple(claims.median(test), first),
            claims.words(LOGS[arm]["test"][0]),
            as_multiple(LOGS[arm]["test"][0], LOGS["M"]["test"][0]),
            described(train),
            claims.words(LOGS[arm]["train"][0]),
        ]
    )
tables.grid(head, lines)

# %% [markdown]
# ## Ours: another activation, another precision of the loss
#
# The paper's table of notation says ReLU; the published curves were made with GELU, the
# default of the code's first version. And the logits are cast to float64 before the
# softmax, which the paper does not mention. Do the bars depend on either? The experiments are
# `singh2026/fig02relu` and `singh2026/fig02float32`; what is recorded of them is shown.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Ours. The same bars for GELU with the loss in float64 (as run by the authors), for ReLU (as written in the paper) and for GELU with the loss in float32. Bars are medians over seeds, dots single seeds; hatched, not within the run.", "name": "fig-singh2026-01-variants"}, "image": {"alt": "Two bar charts on logarithmic axes, first epoch of a test loss of 0.01 and of a training loss of 0.01, with three bars for each of M, M+A star, A star and No LN: GELU in float64, ReLU in float64 and GELU with a float32 loss."}}
SETTINGS = {
    "GELU, float64 loss": (small, "", plots.BLUE),
    "ReLU, float64 loss": (relu, ", ReLU", plots.ORANGE),
    "GELU, float32 loss": (float32, ", float32 loss", plots.PURPLE),
}
SETTINGS = {name: found for name, found in SETTINGS.items() if found[0]}


def bars_by_setting():
    """One panel for test and one for train, with a bar for every setting."""
    figure, axes = plots.panels(2, height=3.4)
    for panel, split in zip(axes, ("test", "train"), strict=True):
        for number, (record, suffix, color) in enumerate(SETTINGS.values()):
            for position, arm in enumerate(ORDER):
                if record.seeds(arm + suffix):
                    place = position + 0.27 * (number - (len(SETTINGS) - 1) / 2)
                    values = crossing(record, arm + suffix, split)
                    bar(panel, place, values, horizon(record), color=color, width=0.25)
        panel.axhline(horizon(small), color="#888888", lw=1, ls=":")
        panel.set(yscale="log", ylim=(20, 1.6 * horizon(small)))
        panel.set_xticks(range(len(ORDER)), ORDER)
        panel.grid(axis="x", visible=False)
    axes[0].set_ylabel("first epoch with loss ≤ 0.01")
    handles = [Patch(color=color, label=name) for name, (*_, color) in SETTINGS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    plots.letter(axes, ["test", "train"])
    figure.show()


if len(SETTINGS) > 1:
    bars_by_setting()
else:
    print("Neither ReLU nor the loss in float32 is recorded yet.")

# %% [markdown]
# Without LN the training loss falls lowest, so this is where the precision of the loss
# can matter most. In float32 the loss of one sample is a multiple of
# $2^{-23} = 1.2 \cdot 10^{-7}$ once it is small, or exactly zero
# ({term}`softmax collapse`). A mean loss below that means that many samples would have
# no loss and no gradient of their correct class left in float32. That is a reason to expect
# trouble without LN, and it comes: with the first seed, every time the training loss nears
# that number the float32 run is thrown back by orders of magnitude, a {term}`slingshot`,
# and starts again. In float64 there is none.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Ours. No LN in the settings that are recorded: training loss, test loss and length of one optimiser step. Median over seeds, thin lines single seeds; the dotted line in (a) is the smallest loss above zero that one sample can have in float32.", "name": "fig-singh2026-01-precision"}, "image": {"alt": "Three panels against epoch for the network without layer norm, one curve per recorded setting: the training loss on a logarithmic axis with a dotted line near 1e-7, the test loss, and the norm of an update on a logarithmic axis."}}
figure, axes = plots.panels(3, height=3.2)
for name, (record, suffix, color) in SETTINGS.items():
    arm = f"No LN{suffix}"
    if record.seeds(arm):
        for panel, column in zip(
            axes, ("train_loss", "test_loss", "update_norm"), strict=True
        ):
            plots.curve(panel, record, arm, column, color=color, label=name)
axes[0].axhline(2.0**-23, color=plots.BLACK, ls=":", lw=1)
axes[0].set_yscale("log")
axes[2].set_yscale("log")
for panel, label in zip(axes, ("loss", "loss", "length of one step"), strict=True):
    panel.set(xlabel="epoch", ylabel=label)
    plots.thousands(panel)
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=3)
plots.letter(axes, ["training loss", "test loss", "update"])
figure.show()
least = min(small.series("No LN", "train_loss").min())
print(f"smallest training loss of No LN, GELU, float64 loss  {least:.1e}")
print(f"smallest loss above zero of one sample in float32     {2.0**-23:.1e}")

# %% [markdown]
# ## Check
#
# Thresholds were fixed before the runs were seen. Ratios compare runs of the same seed,
# that is of the same split; a run that never crosses counts as crossing at the end of the
# training, which makes every ratio a cautious one. "Logs" are the epochs in the authors'
# own files, for the mean over their five seeds. For A* against No LN, which are close
# there and overlap, the medians over seeds are compared.


# %% tags=["hide-input"]
def ratio(record, one, other, suffix="", split="test"):
    """Epoch of one variant over that of another; inf where the first never crosses."""
    end = horizon(record)
    return claims.combine(
        lambda a, b: a / min(b, end),
        crossing(record, one + suffix, split),
        crossing(record, other + suffix, split),
    )


def lead(record, suffix=""):
    """Epoch of No LN over that of M, at least."""
    end = horizon(record)
    return claims.combine(
        lambda slow, fast: min(slow, end) / fast,
        crossing(record, f"No LN{suffix}", "test"),
        crossing(record, f"M{suffix}", "test"),
    )


def together(record, split, suffix=""):
    """By seed, the crossings of all four variants in the order of the paper."""
    found = [crossing(record, arm + suffix, split) for arm in ORDER]
    shared = [s for s in found[0] if all(s in values for values in found)]
    return {seed: [values[seed] for values in found] for seed in shared}


def correlation(record, suffix=""):
    """Rank correlation over the four variants of test and train epochs."""
    train = together(record, "train", suffix)
    return {
        seed: float(pd.Series(test).rank().corr(pd.Series(train[seed]).rank()))
        for seed, test in together(record, "test", suffix).items()
    }


def train_order(record, statement, paper, suffix="", **options):
    """The claim about the order in which the variants fit the training set."""
    epochs = {arm: crossing(record, arm + suffix, "train") for arm in FIT}
    return claims.order(record, statement, paper, epochs, **options)


def complete(record, suffix=""):
    return record and all(record.seeds(arm + suffix) for arm in ORDER)


found = []
if complete(central):
    found += [
        claims.per_seed(
            central,
            "test: M generalises in at most 0.5 of the epochs of M+A*",
            "earlier; logs 0.40",
            ratio(central, "M", "M+A*"),
            lambda share: share <= 0.5,
            show="{:.2f}",
            source="Figure 1",
        ),
        claims.per_seed(
            central,
            "test: M+A* in at most 0.7 of the epochs of A*",
            "earlier; logs 0.49",
            ratio(central, "M+A*", "A*"),
            lambda share: share <= 0.7,
            show="{:.2f}",
            source="Figure 1",
        ),
    ]
    last_two = [crossing(central, arm, "test") for arm in ("A*", "No LN")]
    slow = [claims.median(values) for values in last_two]
    n = min(len(values) for values in last_two)
    found += [
        claims.Claim(
            "test: A* not after No LN (medians over seeds)",
            "slightly earlier; logs 7,157 and 7,807, seeds overlap",
            f"{claims.words(slow[0])} and {claims.words(slow[1])}",
            n,
            "—",
            n if slow[0] <= slow[1] and math.isfinite(slow[0]) else 0,
            central.scale,
            "Figure 1",
        ),
        claims.per_seed(
            central,
            "test: No LN takes at least 3 times the epochs of M",
            "about 5; logs 5.5",
            lead(central),
            lambda factor: factor >= 3,
            show="{:.1f}",
            source="Figure 1",
        ),
        train_order(
            central,
            "train: A*, M+A*, M, No LN fit in this order",
            "another order than on test; logs: 148, 214, 231, 317",
            source="Figure 1",
        ),
        claims.per_seed(
            central,
            "rank correlation of test and train epochs over the variants below 1 in size",
            "not correlated; logs 0.20",
            correlation(central),
            lambda r: abs(r) < 0.999,
            show="{:.2f}",
            source="Figure 1",
        ),
    ]
for name, (record, suffix, _) in SETTINGS.items():
    if record is central or not complete(record, suffix):
        continue
    where = f"{name}, {record.scale} scale"
    found += [
        claims.extra(
            record, f"{where}: {text}", values, show="{:.2f}", paper="not in the paper"
        )
        for text, values in (
            ("M over M+A*, test", ratio(record, "M", "M+A*", suffix)),
            ("M+A* over A*, test", ratio(record, "M+A*", "A*", suffix)),
            ("A* over No LN, test", ratio(record, "A*", "No LN", suffix)),
            ("No LN over M, test", lead(record, suffix)),
        )
    ]
    text = f"{where}: A*, M+A*, M, No LN fit the training set in this order"
    found.append(train_order(record, text, "not in the paper", suffix, extra=True))
if central.seeds("A*"):
    found.append(
        claims.extra(
            central,
            "A*: largest test accuracy, whatever its loss",
            claims.largest(central, "A*", "test_accuracy"),
            show="{:.1%}",
        )
    )
if float32 and complete(small):
    for arm in ORDER:
        if float32.seeds(f"{arm}, float32 loss"):
            found.append(
                claims.extra(
                    float32,
                    f"{arm}: test epoch with the loss in float32 over that in float64",
                    claims.combine(
                        lambda a, b: a / min(b, horizon(small)),
                        crossing(float32, f"{arm}, float32 loss", "test"),
                        crossing(small, arm, "test"),
                    ),
                    show="{:.2f}",
                )
            )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/fig01")

# %% [markdown]
# ## Reading the result
#
# **What holds.** M is first by a wide margin, A\* and No LN are last, and the order of fitting
# is another: A\* fits first and generalises third. So LN does not simply make training
# quicker. The epochs of the fit are those of the authors' logs to within about a tenth.
#
# **What one seed cannot say.** It cannot give the size of the effect. All four test epochs
# lie below the mean of the logs, M and M+A\* below all five of their seeds. In the logs
# A\* has by far the widest range, from 3,647 epochs to 7,274, around a mean only 8 % before
# No LN, so the order of these two is the least certain part of the figure.
#
# **What the smaller task changes.** On addition modulo 37 M is first as well, but A\*
# does not come before No LN. Its test loss comes to rest near 0.02 with all but a few
# test pairs right: "never" is a statement about the threshold and the horizon as much as
# about the network.
#
# **What activation and precision change.** On the smaller task, with the first seed,
# little of the order: M, M+A\*, No LN, A\* in all three settings. ReLU makes every
# variant later on the test set but A\*, which comes to a loss of 0.01 with it and not
# with GELU. In float32 M and M+A\* are earlier and No LN is later. That slingshots come
# where losses are rounded to zero is the subject of {cite:t}`liu2026`.
#
# **What the last claim is worth.** Four variants have 24 orders, and only two of these have a
# rank correlation of 1 or −1. That the correlation is below 1 in size would be true of
# eleven in twelve random orders. The row above it, with the order itself, is the stricter one.
#
# Deviations and ambiguities:
#
# 1. *Smaller task.* Where the tables say laptop scale: addition modulo 37 with half of the
#    table, 685 training pairs, and 5,000 epochs. It was chosen by cost, after a pilot of M
#    and No LN had shown that both generalise within that time. Only its orders and ratios
#    compare with the authors' epochs.
# 2. *Activation.* GELU, with which the published logs were made.
# 3. *Start.* The authors' distributions, not their draws: those came from a GPU.
# 4. *Crossing.* First logged epoch, every 10th up to 2,000 and every 20th from there, after
#    the step; the authors log every epoch, the training loss before the step.
# 5. *Median of seeds* in place of the mean curve. Both are in the table.
# 6. *Schematic.* Drawn by us; its content is Table 1 of the paper.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-01-length
# In the printed table, doubled embeddings change the length of the MLP's input by a few per
# cent in A\* and A^v, and not at all in M. Multiply `x` by 20 instead. What is left
# of the difference between A^v and No LN, and why?
# ```
#
# ```{solution} ex-singh2026-01-length
# :class: dropdown
# `block(20 * x, (3,))` has an MLP input about four times as long as `block(x, (3,))`, No
# LN one more than 20 times as long. LN on the values fixes the length of what attention
# adds, but the skip connection still carries $x$ itself. While embeddings are short
# against what attention adds, their length is drowned; it is not removed. Only LN at (1)
# removes it.
# ```
#
# ```{exercise}
# :label: ex-singh2026-01-mean
# Four seeds cross a test loss of 0.01 at epoch 1,000, falling from 20 to 0 at once, the
# fifth at 3,000. Where does the mean curve cross, and where does the median of the
# crossings lie? How does the answer change with the number of seeds?
# ```
#
# ```{solution} ex-singh2026-01-mean
# :class: dropdown
# The mean stays at 4 until 3,000; the median is 1,000. With more seeds the mean curve
# crosses later and later, since it waits for the slowest, while the median settles.
# ```
#
# ```{exercise}
# :label: ex-singh2026-01-float
# By how much must the correct logit lead for the loss of a sample to be exactly zero in
# float32, and in float64? What does a {term}`readout scale` of 2 change?
# ```
#
# ```{solution} ex-singh2026-01-float
# :class: dropdown
# With one competitor the loss is $\ln(1 + e^{-d})$, and the sum rounds to 1 once
# $e^{-d} < 2^{-24}$ in float32 or $2^{-53}$ in float64: leads of 16.6 and 36.7. A scale of 2
# halves the lead that the weights must produce.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(*every)

# %% [markdown]
# The page again from the records: `grokbook execute singh2026/fig01`. Trained anew on the
# small task: `make page PAGE=singh2026/fig01 SCALE=laptop`.
