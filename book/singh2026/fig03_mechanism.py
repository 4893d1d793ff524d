# %% [markdown]
# # [Singh et al. 2026 · Figure 3]{.kicker} A norm on the values brings a low test loss much sooner, while one on queries and keys keeps it away for 10,000 epochs

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch
from torch.nn.functional import cross_entropy

from claimbook import claims, evidence, papers, plots, tables
from claimbook.engine import build
from claimbook.engine.learner import Learner
from claimbook.evidence import Run, told, words
from grokbook import models

plots.use_style()
page = evidence.Page("singh2026/fig03", scale, retrain, device)
positions = page.record("fig02", arms=("M", "M+A*", "A*", "No LN"))
alone = page.record(scale=positions.scale)
SR, KEPT, TEST = "sr_train", "sr_train_norms_kept", "test_loss"
ENTROPY, LAST = "entropy", "entropy_last_query"


def arm(record, name, label=""):
    return Run(record, name, label or name, plots.COLOUR[name])


plain, both = (
    arm(positions, "No LN", "no norm (No LN)"),
    arm(positions, "M+A*", "all (M+A*)"),
)
mlp = arm(positions, "M", "before the MLP (M)")
value, scores = arm(alone, "A^v", "on values"), arm(alone, "A^qk", "on queries, keys")
attention = arm(positions, "A*", "on both (A*)")
value_mlp = arm(alone, "M+A^v")
every = (plain, mlp, value, attention, scores, both, value_mlp)
reached = {run: run.reaches(loss=0.01) for run in every}
top = plain.largest(SR, since=200)
excess = plain.series(SR, since=500) - plain.series("train_loss", since=500)


def kept(run, column=SR):
    """SR-train at epoch 4,000 over that at 200."""
    return run.at(column, 4000) / run.at(column, 200)


def below(run):
    """Entropy of No LN minus that of an arm, from epoch 600 on; epochs by seeds."""
    distance = plain.series(ENTROPY, since=600) - run.series(ENTROPY, since=600)
    return distance.dropna(how="all")


found = {
    "values": ([value, plain], evidence.ratio(reached[value], reached[plain])),
    "m-first": ([mlp, value], evidence.ratio(reached[mlp], reached[value])),
    "never": (scores, reached[scores]),
    "entropy": ([scores, plain], below(scores).min()),
    "entropy-a": ([attention, plain], below(attention).min()),
    "excess": (plain, excess.min()),
    "rises": (plain, top - plain.at(SR, 200)),
    "falls": (plain, top - plain.last(SR)),
    "m-falls": (mlp, kept(mlp)),
    "values-stay": (value, (value.series(SR, until=3000) - 4.5).abs().max()),
    "values-kept": (value, value.largest(KEPT)),
    "both-out": (both, kept(both)),
    "both-kept": (both, kept(both, KEPT)),
    "fit": (scores, scores.fitted(loss=0.01)),
}
sheet = claims.read(page.name, found)
back = value.falls_back(loss=0.01)
came = (reached[scores] < math.inf).sum()
sheet.box(
    "Attention reads its input in two ways: queries and keys decide which tokens "
    "count, and values are what is passed on. The paper says that a layer norm on the "
    "values alone strongly accelerates grokking, and that one on queries and keys "
    "alone prevents it within 10,000 epochs. We find both, in a transformer that learns "
    "addition.\n\nWith the norm on the values the test loss first fell to 0.01 at epoch "
    f"{words(claims.median(reached[value]))}, without a norm at "
    f"{words(claims.median(reached[plain]))}. It then mostly stays low: "
    f"{words(claims.median(back), '{:.0%}')} of the later test losses are above 0.01. "
    f"With the norm on queries and keys {came} of {len(scores.seeds)} runs came to "
    "0.01.\n\nThe paper's reason for the second is that a norm on queries and keys makes "
    "attention sharp: it rests on single tokens. That is so with the norm on queries and keys "
    "alone. But with a norm on all three (A*), so on queries and keys too, attention starts less "
    "sharp than without any norm, and the test loss does fall to 0.01."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-03
#| caption: >
#|   A norm on the values brings a low test loss early, one on queries and keys keeps
#|   it away. (a) Test loss; lines are medians of the runs. A triangle stands at the
#|   median epoch of the first test loss of 0.01. (b) Entropy of attention, averaged
#|   over its heads. The lower it is, the sharper attention is on single tokens; at ln
#|   3 it gives all three tokens the same weight. Thick lines are medians, thin lines
#|   single runs, and their range is shaded. "On all three" (A*) is a norm on queries,
#|   keys and values; M is one before the MLP alone. Diamonds are the means of the
#|   authors' runs; in (a) those of M and of the norm on values are left out where the
#|   curves lie at 0.
#| alt: >
#|   Two panels against epoch. Test loss falls to zero first with M, then with a norm on
#|   values, later with A* and No LN. It stays above 25 with a norm on queries and keys,
#|   whose entropy of attention is the lowest, near 0.6.
#| fold: "Code: draw the figure"
authors = evidence.reference("singh2026/fig03").set_index(["quantity", "series"])
events = evidence.reference("singh2026/fig03_events").set_index(["series", "stat"])
DASHES = {value: "-.", scores: (0, (5, 1))}
EARLY = {mlp: (150, 500), value: (500, 1000, 1500)}  # they are at 0 from there on
OFTEN = range(1000, 10_001, 1500)


def draw(panel, run, quantity, epochs=OFTEN, **how):
    """A curve, and the authors' mean at some epochs where our task is theirs."""
    plots.curve(panel, run, quantity, linestyle=DASHES.get(run, "-"), **how)
    if run.record.scale == "paper":
        found = authors.loc[(quantity, run.arm)]
        found = found[found.epoch.isin(epochs)]
        plots.paper(panel, found.epoch, found.value, color=run.color, label="")


ratios = {"width_ratios": (1.5, 1)}
figure, (test, even) = plots.panels(2, height=3.9, gridspec_kw=ratios)
for run in every[:5]:
    name = "on all three (A*)" if run is attention else run.label
    draw(test, run, TEST, EARLY.get(run, OFTEN), each_seed=False, label=name)
    draw(even, run, ENTROPY, (200, 400, 1000, 2000, 4000, 10_000), label="")
    low = claims.median(reached[run])
    if low < math.inf:
        test.plot([low], [0.01], "v", color=run.color, mec="white", ms=9, zorder=4)
share = f"{words(claims.median(back), '{:.0%}')} of later losses\nare above 0.01"
test.text(6500, 4.5, f"on values:\n{share}", color=value.color)
never = f"on queries, keys:\n{came} of {len(scores.seeds)} runs came to 0.01"
test.text(10_000, 37.5, never, color=scores.color, ha="right")
for run, x, y, name in (
    (mlp, 230, 1.05, "M"),
    (value, 230, 0.975, "values"),
    (attention, 230, 0.84, "A*"),
    (every[0], 720, 0.69, "No LN"),
    (scores, 900, 0.645, "queries, keys"),
):
    even.text(x, y, name, color=run.color)
even.axhline(math.log(3), color=plots.GREY, ls=":", lw=1.2)
even.text(185, 1.11, "ln 3", color=plots.GREY)
even.set(xscale="log", xlabel="epoch", ylabel="entropy (nats)", xlim=(170, 13_000))
even.set_xticks([200, 1000, 5000], ["200", "1k", "5k"])
even.set_ylim(top=1.15)
even.minorticks_off()
test.set(xlabel="epoch", ylabel="test loss (nats)", ylim=(-2, 47))
plots.thousands(test)
plots.paper(test, [], [])
figure.legend(loc="outside upper center", ncols=3, columnspacing=1.2)
plots.letter((test, even), ["test loss", "entropy of attention"])
plots.show(figure)

# %% [markdown]
# ## What to see
#
# The {term}`layer norm` is before the MLP (M) or at the inputs of attention: on the values alone
# ($A^v$), on queries and keys alone ($A^{qk}$), or on all three (A\*). No LN has none.

# %% tags=["remove-input"]
tables.prose(rf"""
* **On values** (a) the test loss falls much earlier, and mostly stays low. M is still
  earlier, but {told(mlp.falls_back(loss=0.01), "{:.0%}")} of its later losses are above 0.01.
* **On queries and keys** the norm delays even the fit, to epoch {sheet.told("fit")}. The best
  test accuracy is {told(scores.largest("test_accuracy"), "{:.1%}")}.
* **Low entropy does not follow from the norm** (b). The {{term}}`attention entropy` of
  $A^{{qk}}$ is the lowest. A\* has the same norm, starts above No LN and ends near it.
""")

# %% tags=["hide-input"]
#| name: fig-singh2026-03-lengths
#| caption: >
#|   Without a norm a network that memorises reads lengths, and reads them less when its
#|   test loss falls. SR-train is the training loss when the MLP no longer sees how long its
#|   input is. Short dashes: the training loss itself, without a norm. Median of the runs,
#|   their range shaded. Diamonds: the authors' logs, mean of their runs.
#| alt: >
#|   SR-train without a norm rises to 6.5 and falls to 3. With M it falls from 4.3 to 3,
#|   with a norm on values it stays between 4.5 and 5.
#| fold: "Code: draw SR-train"
figure, (sr,) = plots.panels(1, height=3.2)
for run in (plain, mlp, value):
    draw(sr, run, SR)
dashed = {"linestyle": plots.DASHED, "each_seed": False, "label": ""}
plots.curve(sr, plain, "train_loss", **dashed)
sr.set(xlabel="epoch", ylabel="SR-train (nats)")
plots.thousands(sr)
plots.paper(sr, [], [])
figure.legend(loc="outside upper center", ncols=4, columnspacing=1.2)
plots.show(figure)

# %% [markdown]
# ## The idea
#
# With $y$ the residual stream behind attention, a block returns $y + \mathrm{MLP}(y)$. An
# MLP that memorises may tell its training samples apart by the length of $y$. SR-train
# removes the length, and nothing trains on it:
#
# $$
# y + \mathrm{MLP}\left( \frac{y}{\lVert y \rVert_2} \right) .
# $$
#
# If that loss is far above the training loss, lengths matter.


# %%
def sr_train(model, tokens, labels):
    """Training loss with the input of the MLP at length 1."""

    def unit(place, x):
        return x / x.norm(dim=-1, keepdim=True) if place == "mlp_in.0" else x

    return cross_entropy(model(tokens, unit).double(), labels)


# %% tags=["hide-input"]
#| fold: "Code: it is what the runs measured, norms left out and kept"
member = papers.get("singh2026/fig02", "smoke").arm("M"), 456
data, model = build.start(*member)
measured = Learner([member]).observe(["scale_free"])
with torch.no_grad():
    for column, network in ((SR, models.without_norms(model)), (KEPT, model)):
        ours = sr_train(network, data.x_train, data.y_train)
        torch.testing.assert_close(ours, measured[column])

# %% [markdown]
# In a network with norms there are two ways to do this. The released code leaves out *every*
# norm of the block while it measures, and so does the figure above. The other way keeps the
# norms and shortens what the MLP really reads. Without norms both are the same.


# %% tags=["hide-input"]
#| fold: "Code: both ways, and the entropy at the last query, in a table"
def cells(run):
    """SR-train both ways, and what the output attends to, in words."""
    some = run.at(SR, 200), run.at(SR, 4000), run.largest(KEPT), run.at(KEPT, 4000)
    return [told(one, "{:.2f}") for one in (*some, run.at(LAST, 1000), run.last(LAST))]


head = ["Norm", "Left out: epoch 200", "4,000", "Kept: largest", "4,000"]
head += ["Entropy, last query: epoch 1,000", "end"]
caption = "SR-train with norms left out and kept, and entropy at the last query (nats)"
tables.grid(head, [[run.label, *cells(run)] for run in every[:6]], caption=caption)

# %% [markdown]
# The last query is the one from which the output is read. A guess has a loss of
# $\ln 114 = 4.74$.
#
# ## The claims
#
# The paper gives no numbers for this figure. The bounds are ours, fixed before the runs from
# the authors' curves. The row on A\* was added after the runs, with the bound of the row above it.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(alone, positions)

# %% [markdown]
# ## What was run
#
# Five variants for the figure. Two more are only in the authors' logs or not in the paper's
# panels: M+A\* and $M+A^v$, with norms before the MLP as well.
#
# Where the runs differ from the paper, or had to be guessed. Logs and code are those of the
# [official repository](https://github.com/jaisidhsingh/layernorm-grok), logs at commit
# `2199213`.
#
# 1. *Activation.* The paper's [Table 2](tab02_notation.ipynb) names ReLU. The published
#    curves were made with GELU, and so are these.
# 2. *SR-train* is measured every 200 epochs, in both ways. The paper does not say which norms
#    are kept; "left out" is the released code.
# 3. *What is drawn.* The paper draws the smallest of five seeds in (a) and means in (b) and
#    (c). Training losses, and the test loss of M from epoch 800 on, are running minima there.
#    Here all curves are medians of raw values, and of the training losses only No LN is shown.
# 4. *Entropy* is measured on the training set of each run. The authors used one split for all
#    seeds.
# 5. *Starts* have the distributions of the released code, not its random numbers.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
log = authors.loc[(SR, "M")].set_index("epoch").value.loc[200::2]
first = events[events.quantity == "test_loss at most"].epoch
blocked = authors.loc[(TEST, "A^qk")].set_index("epoch").loc[10_000]
tables.prose(rf"""
We agree with the paper on which norm helps and which hinders. Four things are worth adding.

**SR-train of M falls late.** Its share at epoch 4,000 is {sheet.told("m-falls")}, in the
authors' mean {log[4000] / log[200]:.2f}. But when the test loss of M first reaches 0.01, SR-train is still at
{told(mlp.at(SR, reached[mlp]), "{:.2f}")}. It then rises to
{told(mlp.largest(SR, since=400, until=2000) - mlp.at(SR, 200), "{:.2f}")} nats above its value at epoch 200 before it falls. The
authors' logs waver as well, below that value.

**With norms left out, SR-train measures what removing the norms costs.** $A^v$ and A\* were
trained with a norm and are measured without it. For 3,000 epochs their loss is near that of
a guess. With its norm kept, SR-train of $A^v$ rises above that of No LN, and its test
loss falls early all the same. That of M+A\* rises one way and falls the other.

**That low entropy blocks is not shown.** A\* has the norm of $A^{{qk}}$, and its test loss
falls to 0.01 in {(reached[attention] < math.inf).sum()} of {len(attention.seeds)} seeds. At the
last query No LN, A\* and $A^{{qk}}$ all begin with low entropy. In the first two it rises as
their test losses fall; in $A^{{qk}}$ it stays low.

**M routes nothing.** Its attention becomes uniform in every head: at the last query
{told(mlp.last(LAST), "{:.4f}")} nats, where $\ln 3 = 1.0986$. M sums its three tokens and
leaves the rest to the MLP.

*Against the logs.* Our M and $A^v$ are earlier. The authors' means reach 0.01 at epochs
{first["M", "mean"]:,.0f} and {first["A^v", "mean"]:,.0f}. Our $A^{{qk}}$ is further from
a low test loss: its test loss ends at {told(scores.last(TEST), "{:.0f}")}, theirs at
{blocked.value:.0f} ({blocked.low:.0f} to {blocked.high:.0f}).
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-03-peak
# Without a norm, SR-train has a peak long before the network groks. Does a seed whose peak
# comes late grok late?
# ```
#
# ````{solution} ex-singh2026-03-peak
# :class: dropdown
# Nearly in step: the network groks about twice as late as SR-train turns.
#
# ```python
# from claimbook import evidence
# from claimbook.evidence import Run
# run = Run(evidence.record("singh2026/fig02"), "No LN")
# turned, grokked = run.peak("sr_train", since=200), run.first("test_loss", at_most=0.01)
# for seed in turned.sort_values().index:
#     print(f"seed {seed}: turns at {turned[seed]:,.0f}, groks at {grokked[seed]:,.0f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-singh2026-03-unit
# A layer norm with gain 1 gives vectors of length $\sqrt{128}$; SR-train divides by the
# length. Why does this punish a network whose MLP has met nothing shorter than 10, even
# if it reads nothing from the length? Propose a fairer measure.
# ```
#
# ```{solution} ex-singh2026-03-unit
# :class: dropdown
# The MLP is not linear: at a tenth of the usual length GELU works near zero, where it is
# close to $x/2$, and the biases weigh ten times as much. Divide by the length and multiply
# by its mean over the training set: that removes only how lengths *differ* between
# samples, which is all that a memorising MLP could read.
# ```
#
# ```{exercise}
# :label: ex-singh2026-03-heads
# The figure averages attention over four heads before taking its entropy. Find four heads
# whose average is uniform over three tokens although no head is. How small can the mean
# entropy of the single heads be, if their average is uniform?
# ```
#
# ````{solution} ex-singh2026-03-heads
# :class: dropdown
# Each token needs a total weight of 4/3. Let three heads look at one token each, and the fourth
# at all three alike: the mean is $\frac14 \ln 3 = 0.27$. No head has to be uniform for that:
# move a little weight from one head to another, and the mean stays as near to 0.27 as you like.
# Two heads that share a token, with 1/3 on others, give $\frac{2}{4} \cdot 0.64 = 0.32$:
#
# ```python
# import torch
# third = 1 / 3
# sharing = [[1, 0, 0], [0, 1, 0], [third, 0, 2 * third], [0, third, 2 * third]]
# uniform = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [third, third, third]]
# little = 1e-4
# moved = [[1 - little, little, 0], [0, 1, 0], [0, 0, 1], [third + little, third - little, third]]
# for heads in map(torch.tensor, (sharing, uniform, moved)):
#     average, single = torch.special.entr(heads.mean(0)), torch.special.entr(heads)
#     print(f"average {average.sum():.3f}, single heads {single.sum(1).mean():.3f}")
# ```
# ````

# %% [markdown]
# ## Run it yourself
#
# Addition modulo 37 with half of the table, 5,000 epochs and three seeds, in about an hour
# on two cores. That task is not a small copy of the paper's: A\* and $A^v$ stop just short of
# a test loss of 0.01 there, and SR-train of No LN hardly rises.
#
# ```bash
# make page PAGE=singh2026/fig03 SCALE=laptop
# ```
