# %% [markdown]
# # [Singh et al. 2026 · Figure 7]{.kicker} RMSNorm acts like layer norm: before the MLP it brings a low test loss early, but not for good

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import torch
from torch import nn

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words

plots.use_style()
page = evidence.Page("singh2026/fig07", scale, retrain, device)
NORMED = ("M", "M+A*", "A*")
NAMES = (*NORMED, "No LN")
rms_record = page.record(arms=("No LN", *(f"{n}, RMSNorm" for n in NORMED)))
layer_record = page.record("fig02", scale=rms_record.scale)
rms = {n: Run(rms_record, f"{n}, RMSNorm", n, plots.COLOUR[n]) for n in NORMED}
rms["No LN"] = Run(rms_record, "No LN", "No LN", plots.COLOUR["No LN"])
layer = {n: Run(layer_record, n, n, plots.COLOUR[n]) for n in NAMES}
TEST, every = "test_loss", [*rms.values(), *layer.values()]
epoch, soon = ({run: run.first(TEST, at_most=x) for run in every} for x in (0.01, 1))


def over(name, events):
    """Epoch with RMSNorm over that with layer norm, for seeds that have the latter."""
    epochs = evidence.ratio(events[rms[name]], events[layer[name]])
    return evidence.testable(epochs, np.isfinite(events[layer[name]].loc[epochs.index]))


def peak(run):
    """Largest test loss before it first comes down to 1."""
    return run.largest(TEST, until=soon[run])


found = {
    "order": {rms[n]: epoch[rms[n]] for n in ("M", "M+A*", "No LN")},
    "order-of-attention": {rms[n]: epoch[rms[n]] for n in ("M+A*", "A*", "No LN")},
    "within": {n: ([rms[n], layer[n]], over(n, epoch)) for n in NORMED},
    "at-one": {n: (rms[n], over(n, soon)) for n in NORMED},
}
sheet = claims.read(page.name, found)


def middle(run):
    """The median first epoch with a test loss of 0.01, in words."""
    return words(claims.median(epoch[run]))


def ahead(runs):
    """With how many seeds A* first has a test loss of 0.01 before No LN."""
    return int((epoch[runs["A*"]] < epoch[runs["No LN"]]).sum())


again = {run: run.falls_back(loss=0.01) for run in (rms["M"], layer["M"])}
back = {run: words(claims.median(found), "{:.0%}") for run, found in again.items()}
sheet.box(
    "Layer norm first subtracts a vector's mean, then rescales the vector to a fixed "
    "length. RMSNorm leaves the first step out. The paper says that a transformer with RMSNorm shows "
    "very similar results.\n\nWe compare the first epochs with a test loss of 0.01 (medians). With "
    f"RMSNorm before the MLP it is epoch {middle(rms['M'])}, with RMSNorm before both "
    f"the MLP and attention {middle(rms['M+A*'])}, and without a norm "
    f"{middle(rms['No LN'])}. With layer norm the order is the same and the epochs are "
    f"nearly the same: {middle(layer['M'])}, {middle(layer['M+A*'])} and "
    f"{middle(layer['No LN'])}. So the sentence holds as we test it.\n\nThe low loss does "
    "not last: once a network with a norm before the MLP has reached it, "
    f"{back[rms['M']]} of its later test losses are above 0.01 again with RMSNorm, and "
    f"{back[layer['M']]} with layer norm. A norm before attention alone is no clear gain: "
    f"with RMSNorm {ahead(rms)} of {len(rms['A*'].seeds)} runs are earlier than without "
    f"a norm, and with layer norm {ahead(layer)} of {len(layer['A*'].seeds)}."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-07
#| caption: >
#|   With RMSNorm (filled) and with layer norm (open) a low test loss comes in the same
#|   order of rows, and at nearly the same epochs. A row says where the norm is, with
#|   the paper's name in brackets. Each mark is one run, and a black line stands at the
#|   median of the runs. In the last row there is no norm, so both marks are the same
#|   network in two sets of runs. A cross at the end of training is a run that never
#|   came to 0.01. On the right: once a run has come to 0.01, the share of its later
#|   test losses that are above it again. The axis is logarithmic.
#| alt: >
#|   Four pairs of rows. With a norm before the MLP both norms have their marks at 600 to 900
#|   epochs, before both near 2,500, before attention alone near 6,000, without
#|   a norm near 6,700.
#| fold: "Code: draw the figure"
pictured = evidence.reference("singh2026/fig07")
logs = evidence.reference("singh2026/fig02").query("quantity == 'test_loss'")
end = rms["No LN"].settings.epochs
PLACES = ("before the MLP\n(M)", "before both\n(M+A*)")
PLACES += ("before attention\n(A*)", "nowhere\n(No LN)")
figure, (axes,) = plots.panels(1, height=3.6)
for place, name in enumerate(NAMES):
    for shift, runs, fill in ((-0.17, rms, "full"), (0.17, layer, "none")):
        run = runs[name]
        there = epoch[run][np.isfinite(epoch[run])]
        style = {"color": plots.COLOUR[name], "ls": "", "ms": 7, "alpha": 0.85}
        up = place + shift
        axes.plot(there, [up] * len(there), marker="o", fillstyle=fill, **style)
        lost = len(epoch[run]) - len(there)
        axes.plot([end] * lost, [up] * lost, marker="x", **style)
        middle_one = claims.median(epoch[run].clip(upper=end))
        axes.plot([middle_one], [up], "|", ms=16, mew=2, color=plots.BLACK)
        share = words(claims.median(run.falls_back(loss=0.01).dropna()), "{:.0%}")
        axes.text(1.03, up, share, transform=axes.get_yaxis_transform(), va="center")
axes.text(1.03, -0.72, "later losses\nabove 0.01", transform=axes.get_yaxis_transform())
for fill, label in (("full", "RMSNorm"), ("none", "layer norm")):
    axes.plot([], [], "o", color=plots.GREY, fillstyle=fill, label=label)
axes.plot([], [], "x", color=plots.GREY, label="never")
axes.set(xscale="log", xlim=(400, 1.15 * end), ylim=(3.5, -0.5))
axes.set(xlabel="first epoch with a test loss of 0.01")
axes.set_yticks(range(4), PLACES)
axes.grid(axis="y", visible=False)
axes.set_xticks([500, 1000, 2000, 5000, 10_000], ["500", "1k", "2k", "5k", "10k"])
axes.minorticks_off()
figure.legend(loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see
#
# The norm is before the MLP (M), before attention (A\*), before both (M+A\*) or nowhere
# (No LN).

# %% tags=["remove-input"]
tables.prose(rf"""
* **The order** M, M+A\*, No LN of {{term}}`layer norm` is that of {{term}}`RMSNorm` in every
  run.
* **{{term}}`Slingshots <slingshot>`** appear with both norms and throw M and M+A\* back to the
  end of training. With RMSNorm the worst run of M+A\* ends with
  {100 * rms["M+A*"].last("test_accuracy").min():.0f} % of the test set right.
* **The way there** is alike too (next figure). Before it falls, the test loss of M peaks at
  {told(peak(rms["M"]), "{:.1f}")} with RMSNorm and {told(peak(layer["M"]), "{:.1f}")} with
  layer norm.
""")

# %% tags=["hide-input"]
#| name: fig-singh2026-07-curves
#| caption: >
#|   The test losses rise and fall alike with both norms: (a) RMSNorm, (b) layer norm. Median
#|   of the runs, their range shaded. Diamonds: means of the authors' runs, read off their
#|   picture in (a), from their logs in (b).
#| alt: >
#|   Both panels look alike. M peaks near 7 and falls to zero by epoch 800. M+A* peaks near
#|   11 and falls by 2,500, the network without a norm peaks near 25 and falls by 7,000.
#| fold: "Code: draw the test losses"
figure, (a, b) = plots.panels(2, height=3.2, sharey=True)
for panel, runs, authors in ((a, rms, pictured), (b, layer, logs)):
    for name in NAMES:
        run = runs[name]
        plots.curve(panel, run, TEST, label=name if runs is layer else "")
        at = pictured.epoch[pictured.series == rms[name].arm]
        found = authors[(authors.series == run.arm) & authors.epoch.isin(at)]
        if rms_record.scale == "paper" and run.seeds:
            points = {"color": run.color, "label": ""}
            plots.paper(panel, found.epoch, found.value, **points)
    panel.set(xlabel="epoch", ylim=(-1, 32))
    plots.thousands(panel)
a.set(ylabel="test loss")
if rms_record.scale == "paper":
    plots.paper(b, [], [])
figure.legend(loc="outside upper center", ncols=5)
plots.letter((a, b), ["RMSNorm", "layer norm"])
plots.show(figure)

# %% [markdown]
# ## The idea
#
# For an input $x$ of width $d$, and without the learned gain $\gamma$ and shift $\beta$,
#
# $$
# \mathrm{RMSNorm}(x) = \frac{x}{\sqrt{\tfrac{1}{d} \sum_i x_i^2}} ,
# \qquad
# \mathrm{LN}(x) = \mathrm{RMSNorm}(x - \bar x) .
# $$
#
# Layer norm first takes one direction of $d$ out of $x$, $(1, \dots, 1)$. A random $x$ has
# only a share of $1/d$ of its square length there. Both norms forget the length of $x$.


# %%
def rms_norm(x):
    return x / x.square().mean(dim=-1, keepdim=True).sqrt()


def layer_norm(x):
    return rms_norm(x - x.mean(dim=-1, keepdim=True))


# %% tags=["hide-input"]
#| fold: "Code: they are the norms of the network, and differ by a share of 1/128"
width = rms["M"].settings.model.options["width"]
torch.manual_seed(0)
x = torch.randn(10_000, width, dtype=torch.float64)
for ours, theirs in ((rms_norm, nn.RMSNorm), (layer_norm, nn.LayerNorm)):
    torch.testing.assert_close(ours(x), theirs(width, eps=0.0).double()(x))
    torch.testing.assert_close(ours(7 * x), ours(x))
share = x.mean(dim=-1).square().mean() / x.square().mean()
print(f"share of the mean in the square length: {share:.4f}; 1/d = {1 / width:.4f}")

# %% [markdown]
# ## The claims
#
# "Very similar" has no number in the paper. The bound of 40 % is ours. It was fixed before any
# run with RMSNorm, as was the rule that a seed without a counterpart gives no ratio.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(rms_record, layer_record)

# %% [markdown]
# ## What was run
#
# Where the runs differ from the paper, or had to be guessed:
#
# 1. *No logs* of this figure were published. Its numbers are read by eye off the picture in
#    the notebook of the [official repository](https://github.com/jaisidhsingh/layernorm-grok),
#    good to about 0.5 and 50 epochs.
# 2. *Activation.* GELU, as in the authors' logs of the other figures; the picture fits it.
# 3. *Running minima.* The paper draws M from epoch 1,000 and M+A\* from 1,800 on as running
#    minima. Here the curves are medians of raw values.
# 4. *Pairs.* A seed sets the split and the start of both norms, if both were trained with one
#    version of PyTorch. Seed 456 of layer norm and all of A\* with RMSNorm were trained on a CPU
#    with 2.13, all others on a GPU with 2.11. The two draw truncated normal numbers differently,
#    so these pairs share their split alone, but for A\* with seed 456.
# 5. *Epochs* are logged ones, every tenth and from 2,000 on every twentieth.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
second = layer["M+A*"]
lost = int(np.isinf(epoch[second]).sum())
tables.prose(rf"""
Layer norm subtracts a mean and adds a shift $\beta$; RMSNorm does neither, and the order and
the epochs are nearly the same. So mean and shift are not why the place of a norm matters.
The order of A\* and No LN differs from seed to seed, with either norm.
What is left is what both norms do: they take away the length of their input.

**Pairs that differ.** For M the ratio of the epochs is {sheet.told("within M")}. The largest
belongs to the seed whose two starts differ. Without any norm the ratio of the two records is
{told(over("No LN", epoch), "{:.2f}")}, and the same seed alone moves it away from 1. So much
does a start matter.

**Luck near 0.01.** With layer norm {lost} of {len(second.seeds)} seeds of M+A\* never touches
0.01, because slingshots begin first. It gets to {second.smallest(TEST).max():.4f}. A test loss
of 1 is the steadier mark. There the ratio is {sheet.told("at-one M")} for M and
{sheet.told("at-one M+A*")} for M+A\*.

**The picture against the logs.** In the authors' picture M is near 0 at epoch 800. In their
logs of layer norm it reaches 0.01 at epoch 1,425. That is no ratio: one number is read off a
running minimum, the other is the crossing of a mean.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-07-projection
# Write the step from RMSNorm to layer norm as a matrix. Can the layers before the norm learn
# it, so that RMSNorm could do whatever layer norm does?
# ```
#
# ````{solution} ex-singh2026-07-projection
# :class: dropdown
# $P = I - \tfrac{1}{d} \mathbf{1} \mathbf{1}^\top$, so $\mathrm{LN}(x) = \mathrm{RMSNorm}(P
# x)$. If every matrix that writes into $x$ (embedding, positions, attention output) is
# multiplied by $P$, its output has no mean and both norms agree:
#
# ```python
# import torch
# from torch import nn
# d = 128
# project = torch.eye(d) - torch.ones(d, d) / d
# x = torch.randn(5, d)
# torch.testing.assert_close(nn.LayerNorm(d, eps=0)(x), nn.RMSNorm(d, eps=0)(x @ project))
# ```
#
# In M that also changes what the unembedding reads past the norm, but only by a direction
# that it can ignore.
# ````
#
# ```{exercise}
# :label: ex-singh2026-07-shift
# RMSNorm has no shift β. How would you test whether the mean or the shift makes the
# difference, if there is one?
# ```
#
# ```{solution} ex-singh2026-07-shift
# :class: dropdown
# A third norm: mean subtracted, no shift. In PyTorch it is `nn.LayerNorm(width, bias=False)`.
# Give it a name in `Layout.new_norm` of `models.transformer` and an arm in `fig07`. Before
# training β is zero, so all three differ by the mean alone.
# ```
#
# ```{exercise}
# :label: ex-singh2026-07-eps
# The norms here have $\varepsilon = 0$. How small would the entries of $x$ have to be for the
# usual $10^{-5}$ to matter, and do the embeddings come near?
# ```
#
# ````{solution} ex-singh2026-07-eps
# :class: dropdown
# It is added to the mean square, so it matters when entries are about 0.003. Weight decay
# shrinks the embeddings of M+A\* to a few times that:
#
# ```python
# from claimbook import evidence
# from claimbook.evidence import Run
# run = Run(evidence.record("singh2026/fig07"), "M+A*, RMSNorm")
# options = run.settings.model.options
# entries = options["vocabulary"] * options["width"]
# print((run.smallest("norm.embedding") / entries**0.5).round(4))
# ```
#
# At 0.01 the mean square is $10^{-4}$, and $\varepsilon$ would change the length by 5 %.
# ````

# %% [markdown]
# ## Run it yourself
#
# Addition modulo 37 with half of the table, 5,000 epochs and three seeds, in about an hour
# on two cores. It is no small copy of the paper's task: the test loss of A\* falls last
# there, with either norm.
#
# ```bash
# make page PAGE=singh2026/fig07 SCALE=laptop
# ```
