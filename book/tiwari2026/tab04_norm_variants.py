# %% [markdown]
# # [Tiwari et al. 2026 · Table 4]{.kicker} Small networks with layer norm grok in most runs, with the penalty in none

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
PRINTED = {  # Table 4: onset and its deviation, trace, rank
    "baseline": (float("inf"), 0, 42.5, 135),
    "layer norm": (8000, 450, 57.9, 464),
    "RMS norm": (8500, 520, 35.5, 498),
    "penalty": (6167, 624, 1.4, 443),
}
TABLE2 = {"baseline": (float("inf"), 42.5, 135), "penalty": (2460, 1.4, 443)}
TEST, NORMS = "test_accuracy", ("layer norm", "RMS norm")
page = evidence.Page("tiwari2026/tab04", scale, retrain, device)
base = page.record("fig01", arms=("penalty",))
normed = page.record("tab02", arms=("layer norm",))
record_of = {
    "baseline": base,
    "layer norm": normed,
    "RMS norm": normed,
    "penalty": base,
}
runs = {arm: Run(record_of[arm], arm, arm, plots.COLOUR[arm]) for arm in PRINTED}
free, layered, scaled, push = runs.values()
onset = {arm: run.onset() for arm, run in runs.items()}
end = {arm: run.last(TEST) for arm, run in runs.items()}
# of the training loss' Hessian: exact, with norms from 20 probes
TRACE = dict.fromkeys(NORMS, "hessian_trace")
trace = {arm: run.last(TRACE.get(arm, "train_trace")) for arm, run in runs.items()}
# entropy rank of layer 1 after the ReLU, of all pairs
rank = {arm: run.last("effective_rank.hidden.0") for arm, run in runs.items()}


def over(quantity, arm, other):
    """A quantity of one arm over that of another, in the seeds in which both generalise.

    The baseline need not: in the paper it does not generalise either.
    """
    one, two = evidence.paired(quantity[arm], quantity[other])
    done = [runs[name] for name in (arm, other) if name != "baseline"]
    return [runs[arm], runs[other]], evidence.finished(one / two, *done)


three = evidence.behind(*PRINTED["penalty"][:2], count=3)
earlier = evidence.joined({arm: onset[arm] for arm in NORMS}).min(axis=1)
same = [
    one == two
    for arm, said in TABLE2.items()
    for one, two in zip((PRINTED[arm][0], *PRINTED[arm][2:]), said, strict=True)
]
agree = (
    f"{PRINTED['penalty'][0]:,} here, {TABLE2['penalty'][0]:,} there; the others agree"
)
shares = [when / PRINTED["layer norm"][0] for when in (6167, 2460)]
words = ", ".join(evidence.words(share, "{:.0%}") for share in shares)
found = {
    "first": ([push, layered, scaled], evidence.times(earlier, onset["penalty"])),
    "share": ([push, layered], evidence.times(onset["penalty"], onset["layer norm"])),
    "layer-onset": (layered, onset["layer norm"]),
    "layer-trace": ([push, layered], over(trace, "layer norm", "penalty")[1]),
    "rms-onset": (scaled, onset["RMS norm"]),
    "rms-trace": ([push, scaled], over(trace, "RMS norm", "penalty")[1]),
    "trace": over(trace, "layer norm", "baseline"),
    "layer-rank": over(rank, "layer norm", "penalty"),
    "rms-rank": over(rank, "RMS norm", "layer norm"),
    "penalty-rank": over(rank, "penalty", "baseline"),
    "agree": claims.exactly(agree, same),
    "eighty": claims.exactly(words, [abs(share - 0.8) <= 0.05 for share in shares]),
}
width = push.settings.model.options["widths"][0]
sheet = claims.read(page.name, found, width=width, last=layered.settings.epochs)
came = {
    arm: f"{(when < float('inf')).sum()} of {len(when)}" for arm, when in onset.items()
}
first = onset["layer norm"][onset["layer norm"] < float("inf")].min()
share, counted = claims.median(end["penalty"]), len(found["first"][1])
sheet.box(f"""The paper says that layer norm has 80 % of the penalty's acceleration: networks generalise at epoch
{PRINTED["layer norm"][0]:,} with layer norm and at {PRINTED["penalty"][0]:,} with the penalty. In our small MLPs layer norm is
ahead of the penalty, so the sentence fails as we test it. With layer norm {came["layer norm"]} runs generalise, the first at epoch
{first:,.0f}, and with RMS norm, a simpler layer norm, {came["RMS norm"]} runs do. With the penalty {came["penalty"]} runs do; they
end at epoch {push.settings.epochs:,} with {100 * share:.0f} % of the test set right.

The verdict counts the {counted} runs in which
one of the norms brought generalisation. The paper's own comparison is doubtful, as its Table 2 prints epoch
{TABLE2["penalty"][0]:,} for the same penalty.""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab04
#| caption: >
#|   In small networks the two norms get further than the penalty, and layer norm
#|   brings grokking in most runs. Solid lines are test accuracy and dashed lines
#|   training accuracy. Thick lines are medians, thin ones single runs. A line ends
#|   where its runs ended. The legend counts the runs that generalised: their test
#|   accuracy stays above 90 %, the dotted line. The filled dot is the first of these
#|   with layer norm. Diamonds above the curves are the paper's epochs of generalisation,
#|   for networks four times as wide. For the penalty it prints two, in Tables 2 and 4.
#|   The baseline has neither a norm nor
#|   the penalty.
#| alt: >
#|   All four methods fit within some hundred epochs. The norms are at 70 to 95 per cent of the test
#|   set when they end at 12,000; after 15,000 epochs the penalty has two thirds, the baseline a
#|   quarter.
#| fold: "Code: draw the figure"
figure, (panel,) = plots.panels(1, height=4.0)
target = width**0.5
for arm, run in runs.items():
    plots.accuracy(panel, run, label=f"{arm}: {came[arm]}")
panel.axhline(90, color=plots.GREY, ls=":", lw=1)
MARKS = {  # the paper's epochs, and a row above the curves
    "penalty": ([2460, 6167], 110),
    "layer norm": ([8000], 119),
    "RMS norm": ([8500], 128),
}
small = {"va": "center", "fontsize": 9}
for arm, (epochs, y) in MARKS.items():
    ink = plots.COLOUR[arm]
    plots.paper(panel, epochs, [y] * len(epochs), color=ink, label="")
    words = f"{arm} " + ", ".join(f"{epoch:,}" for epoch in epochs)
    panel.text(0.8 * epochs[0], y, words, color=ink, ha="right", **small)
panel.text(3, 91, "generalised", color=plots.GREY, fontsize=9)
edge = 1.15 * push.settings.epochs
for arm, run in (("penalty", push), ("baseline", free)):
    y = 100 * claims.median(run.last(TEST))
    panel.text(1.06 * edge, y, f"{arm}\n{y:.0f} %", color=run.color, **small)
panel.plot(first, 90, "o", color=layered.color, ms=7)
note = f"first run\n{first:,.0f}"
panel.text(1.06 * edge, 90, note, color=layered.color, **small)
plots.paper(panel, [], [])
panel.set_xscale("symlog", linthresh=100)
ticks = [0, 100, 1000, 10_000]
panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
panel.set(xlim=(0, edge), ylim=(-3, 134), yticks=range(0, 101, 20))
figure.legend(*panel.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
when = {arm: told(onset[arm][onset[arm] < float("inf")]) for arm in NORMS}
tables.prose(f"""
* **{{term}}`Layer norm <layer norm>`** generalises in {came["layer norm"]} runs, at epoch {when["layer norm"]}.
  The paper prints 8,000, for a network four times as wide.
* **{{term}}`RMS norm <RMSNorm>`** generalises in {came["RMS norm"]} runs, at epoch {when["RMS norm"]}. The runs end at
  {told(end["RMS norm"], "{:.1%}")} of the test set.
* **With the penalty** no network has generalised after {push.settings.epochs:,} epochs. The test accuracy is
  then {told(end["penalty"], "{:.1%}")}.
* **The paper's row for the penalty** has the trace and the rank of Table 2, and an onset
  {PRINTED["penalty"][0] / 2460:.1f} times as late.
""")

# %% tags=["hide-input"]
#| fold: "Code: the paper's numbers beside ours"
head = ["Method", "Onset, paper", "Onset, here", "Test accuracy at the end, here",
        "Hessian trace, paper", "Hessian trace, training set, here"]  # fmt: skip
tables.grid(head, [
    [arm, evidence.words(when), told(onset[arm]), told(end[arm], "{:.1%}"),
     f"{curvature}", told(trace[arm], "{:.2g}")]
    for arm, (when, _, curvature, _) in PRINTED.items()
])  # fmt: skip

# %% [markdown]
# ## The idea
#
# A norm after each linear layer *fixes* the {term}`radius`. RMS norm divides $h$ by its root mean
# square; layer norm first subtracts the mean over units. Without further weights the result has
# exactly the length that the penalty asks for:
#
# $$
# \Bigl| \frac{h}{\sqrt{\frac1d |h|^2}} \Bigr| = \sqrt d .
# $$
#
# So the three methods share one sphere. Norms put activations on it from the first epoch on.
# Before the norm, the gradient of $h$ has no radial part at all:


# %%
def radial_part(normed):
    """|h . g| / (|h| |g|) for a random loss behind a norm."""
    draw = torch.Generator().manual_seed(0)
    h, direction = torch.randn(2, 128, generator=draw, dtype=torch.float64)
    h.requires_grad_()
    (normed(h) * direction).sum().backward()
    return (abs(h.detach() @ h.grad) / (h.norm() * h.grad.norm())).item()


def rms_norm(h):
    return h / (h.square().mean()) ** 0.5


def layer_norm(h):
    return rms_norm(h - h.mean())


assert radial_part(rms_norm) < 1e-12 and radial_part(layer_norm) < 1e-12
assert abs(rms_norm(torch.randn(128)).norm().item() - 128**0.5) < 1e-4
for name, norm in (("RMS norm", rms_norm), ("layer norm", layer_norm)):
    print(
        f"{name}: no radial part of the gradient beyond rounding, {radial_part(norm) < 1e-12}"
    )

# %% [markdown]
# If radial gradients delayed generalisation, norms should do at least as well as a penalty. The
# paper's numbers say that norms take longer.
#
# **Where 6,167 comes from.** Onsets are multiples of the distance between two evaluations.
# The cell lists every set of three multiples of 100 with the printed mean and deviation:

# %%
assert three == [(5500, 6000, 7000)]
print("three seeds:", *three)

# %% [markdown]
# Only 5,500, 6,000 and 7,000 fit; their mean is 6,166.7. The paper says five seeds. Five
# multiples of 100 have a mean that is a multiple of 20, such as 6,160 or 6,180. So this row has
# three seeds, evaluated every 100, 250 or 500 epochs.

# %% [markdown]
# ## The claims
#
# The paper's ranks and traces belong to networks that generalised. So a seed in which a method
# has no {term}`onset` does not test them. The baseline is the exception: in the paper it does
# not generalise either.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(normed, base)

# %% [markdown]
# ## What was run
#
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* Laptop records have width 128 of 512 and 60 % of the pairs, see
#    [Figure 1](fig01_accuracy_curves.ipynb). The runs with norms have 12,000 epochs, the others
#    15,000. The paper has no onsets of norms for 60 %. At the paper's width the runs of Figure 1
#    end after 8,000 epochs, before strong decay generalises. So this page reads the smaller and
#    longer runs.
# 2. *Place of the norm.* The norm acts on the pre-activation, before the ReLU, in both layers,
#    without affine weights. The paper does not say where. We measure the radius after the norm,
#    where it is $\sqrt d$ by construction and no finding.
# 3. *Trace.* Exact for the penalty and the baseline. With norms it is estimated from 20
#    random probes.
# 4. *Rank.* Entropy rank of layer 1 after the ReLU over all pairs. This is the likeliest source
#    of the paper's numbers, although its own definition rules it out
#    ([Table 2](tab02_regularisers.ipynb)).
# 5. *Weight decay* is 0.001 in all four methods.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
ends = [told(push.last(f"radius.pre.{k}") / target, "{:.2f}") for k in (0, 1)]
tables.prose(f"""
**Two onsets for one row.** Table 2 prints 2,460 for the penalty, Table 4 prints 6,167, with the
same trace and rank. The paper's "80% of the grokking acceleration" of layer norm needs 6,167: the
ratio is {evidence.words(shares[0], "{:.0%}")}. With 2,460 it would be
{evidence.words(shares[1], "{:.0%}")}. So this row and this sentence seem to come from an earlier
experiment.

**Norms, the penalty and the delay.** A norm removes the radial gradient before it entirely, and
fixes the radius from the first epoch on. The penalty needs time for this: over $\\sqrt d$ its
radius ends at {ends[0]} in layer 1 and at {ends[1]} in layer 2. What else the methods do, these
runs do not separate.
""")

# %% [markdown]
# **The row of layer norm occurs twice.** An onset of 8,000 with a deviation of 450 and a rank of
# 464 is also the transformer's baseline in [Table 9](tab09_norm_and_penalty.ipynb).
#
# **Curvature and generalisation disagree** in the paper's own table. Layer norm generalises with
# a {term}`Hessian trace` of 57.9; the baseline, with 42.5, does not. The text says that lower
# curvature goes with generalisation. A norm also changes the meaning of the trace: the weights
# before it may be scaled freely, and the trace scales with the inverse square.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab04-deviation
# Are there three multiples of 100 that give 6,167 ± 624 if the deviation divides by $n - 1$?
# ```
#
# ````{solution} ex-tiwari2026-tab04-deviation
# :class: dropdown
# ```python
# import statistics
# from itertools import combinations_with_replacement
# epochs = range(4000, 8600, 100)
# for name, spread in (("n", statistics.pstdev), ("n - 1", statistics.stdev)):
#     sets = [s for s in combinations_with_replacement(epochs, 3)
#             if round(statistics.fmean(s)) == 6167 and round(spread(s)) == 624]
#     print(f"dividing by {name}: {sets}")
# ```
#
# Compare the two lines. The paper's other tables fit a division by $n$ as well
# ([Table 6](tab06_modulus_and_fraction.ipynb)).
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab04-scale
# The weights $W$ before a norm are multiplied by 10. What becomes of the network's output
# and of the trace of the Hessian with respect to $W$?
# ```
#
# ````{solution} ex-tiwari2026-tab04-scale
# :class: dropdown
# The output stays, second derivatives with respect to $W$ are divided by 100:
#
# ```python
# import torch
# x = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
# def loss(w):
#     h = (w.reshape(4, 8) @ x)
#     return torch.nn.functional.softplus((h / h.square().mean() ** 0.5)[0])
# w = torch.randn(32, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
# traces = [torch.autograd.functional.hessian(loss, s * w).trace() for s in (1, 10)]
# print(f"{traces[0] / traces[1]:.1f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab04-third
# What would tell whether a fixed radius helps, or the direction of the gradients?
# ```
#
# ```{solution} ex-tiwari2026-tab04-third
# :class: dropdown
# For example a norm to another length, compared with the penalty and other targets. A norm has
# angular gradients at any radius ([readings](readings.ipynb)).
# ```

# %% [markdown]
# ## Run it yourself
#
# Four methods at width 128, three times each, some two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/tab04 SCALE=laptop
# ```
