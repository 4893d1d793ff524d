# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Tiwari et al. 2026 · Table 2]{.kicker} In small runs dropout (one seed) gets above 90 % first of four methods, and the penalty (three seeds) not within 15,000 epochs

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import pandas as pd
import torch
from IPython.display import display

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told
from grokbook.papers import tiwari2026

plots.use_style()
PRINTED = {  # Table 2: onset, final test accuracy (%), rank, trace
    "baseline": (float("inf"), 1.7, 135, 42.5),
    "strong decay": (15_540, 100.0, 402, 3.2),
    "dropout": (22_000, 98.5, 378, 5.8),
    "MAN": (15_000, 100.0, 400, 2.5),
    "penalty": (2460, 100.0, 443, 1.4),
}
OURS = {  # the arms of each; what the paper does not state has several
    "baseline": ("baseline",),
    "strong decay": ("strong decay",),
    "dropout": ("dropout 0.1", "dropout 0.2", "dropout 0.5"),
    "MAN": ("MAN 0.01", "MAN 0.05"),
    "penalty": ("penalty",),
}
TABLE6 = {0.5: (2460, 15_540), 0.6: (1320, 9000)}  # onsets of penalty, strong decay
TEST = "test_accuracy"


page = {"scale": scale, "retrain": retrain, "device": device}
base = evidence.stored("tiwari2026/fig01", arms=("penalty",), **page)
more = evidence.stored("tiwari2026/tab02", **page)
records = [record for record in (base, more) if record]
runs = {
    arm: Run(record, arm, arm, plots.COLOUR[method])
    for method, arms in OURS.items()
    for arm in arms
    if (record := more if method in ("dropout", "MAN") else base)
}
push, decay, free = (runs[arm] for arm in ("penalty", "strong decay", "baseline"))
fraction = push.settings.dataset.options["train_fraction"]
there = {arm: run for arm, run in runs.items() if run.seeds}
none = pd.Series(dtype=float)


def onset(arm):
    """First epoch with a test accuracy above 90 % for good; empty if not run."""
    known = arm in there
    return evidence.lasting(runs[arm].series(TEST), above=0.9) if known else none


def value(arm, column):
    """The last value of a column; empty if not run."""
    return there[arm].last(column) if arm in there else none


def tell(values, show="{:,.0f}"):
    """As `told`; an arm without a seed has nothing to tell yet."""
    return told(values, show) if len(values) else "not run yet"


def sooner(arms):
    """The earliest onset of other arms over the penalty's: above 1 it is the first.

    Empty while an arm is missing, unless one that was run is ahead of it already.
    """
    ratios = [evidence.ratio(onset(a), onset("penalty")) for a in arms if a in there]
    first = pd.concat(ratios, axis=1, join="inner").min(axis=1)
    first = first.mask(onset("penalty").reindex(first.index) == float("inf"), 0)
    everyone = all(arm in there for arm in arms)
    return first if everyone or not (first > 1).any() else none


def both(quantity, arm, other):
    """One over the other, seed by seed; empty if either was not run."""
    one, two = evidence.paired(quantity(arm), quantity(other))
    return (one / two).astype(float)


def later(arms):
    """How many of some arms generalise after strong decay, but do."""
    counts = [evidence.difference(onset(a), onset("strong decay")) for a in arms]
    if not all(map(len, counts)):
        return none
    slow = pd.DataFrame(evidence.paired(*counts))
    return ((slow > 0) & (slow < float("inf"))).sum().astype(float)


def rank(place, arm="penalty"):
    """By the paper's words: stable rank of 256 rows."""
    return value(arm, f"stable_rank_256.{place}")


rows = {m: f"| {w} |" for m, w in {
    "baseline": "Baseline (WD) | DNG | 1.7% | 135 | 42.5",
    "strong decay": "Strong WD () | 15,540 1,480 | 100.0% | 402 | 3.2",
    "dropout": "Dropout () | 22,000 2,500 | 98.5% | 378 | 5.8",
    "MAN": "MAN () | 15,000 2,000 | 100.0% | 400 | 2.5",
    "penalty": "Norm Penalty (Ours) | 2,460 136 | 100.0% | 443 | 1.4",
}.items()}  # fmt: skip
ALL = [*OURS["dropout"], *OURS["MAN"]]
others = ["strong decay", "baseline", *ALL]
LAST_RANK = "stable_rank_256.hidden.1"
ahead = sooner(others)
sheet = claims.Sheet("tiwari2026/tab02", show="{:.2f}")
sheet.claim(
    list(there.values()),
    "of all methods the penalty generalises first (the earliest other onset over its own)",
    "faster than strong isotropic weight decay and faster than MAN",
    ahead,
    where="Section 4.2",
    above=1,
    main=True,
)
ratio = evidence.ratio(onset("strong decay"), onset("penalty"))
ratio = ratio.mask(onset("penalty").reindex(ratio.index) == float("inf"), 0)
words = "the onset of strong decay is 5.3 to 7.5 times that of the penalty"
bounds = {"at_least": 5.3, "at_most": 7.5, "where": "Table 2"}
sheet.claim([push, decay], words, rows["penalty"], ratio, **bounds)
words = "without a target (MAN, strength of the penalty) it takes as long as strong decay, "
words += "give or take a quarter (ratio)"
pair, found = [there.get("MAN 0.05", decay), decay], both(onset, "MAN 0.05", "strong decay")
bounds = {"at_least": 0.75, "at_most": 1.25, "where": "Table 2"}
sheet.claim(pair, words, rows["MAN"], found, **bounds)
words = "dropout generalises, after strong decay (how many of three rates)"
rates = [there.get(arm, decay) for arm in OURS["dropout"]]
bounds = {"at_least": 1, "where": "Table 2", "show": "{:.0f}"}
sheet.claim(rates, words, rows["dropout"], later(OURS["dropout"]), **bounds)
words = "dropout generalises before the baseline (how many of three rates)"
early = [evidence.difference(onset("baseline"), onset(arm)) for arm in OURS["dropout"]]
early = (pd.DataFrame(evidence.paired(*early)) > 0).sum().astype(float)
bounds = {"at_least": 1, "where": "Table 2", "show": "{:.0f}"}
sheet.claim([*rates, free], words, rows["baseline"], early, **bounds)
words = "the penalty's test accuracy ends at 99.5 % or more"
bounds = {"at_least": 0.995, "where": "Table 2", "show": "{:.1%}"}
sheet.claim(push, words, rows["penalty"], push.last(TEST), **bounds)
words = "baseline: test accuracy is below 5 % at every log"
bounds = {"below": 0.05, "where": "Table 2", "show": "{:.1%}"}
sheet.claim(free, words, rows["baseline"], free.largest(TEST), **bounds)
quote = "The higher effective rank under our penalty ( vs. for strong WD)"
for layer, place in enumerate(("hidden.0", "hidden.1"), start=1):
    words = f"stable rank of 256 rows after the ReLU of layer {layer}: higher with the "
    words += "penalty than with strong decay (ratio)"
    more = both(lambda arm, place=place: rank(place, arm), "penalty", "strong decay")
    sheet.claim([push, decay], words, quote, more, where="Section 4.2", above=1)
words = "exact Hessian trace on the training set: at least twice as large with strong decay "
words += "(ratio)"
found = both(lambda arm: value(arm, "train_trace"), "strong decay", "penalty")
bounds = {"at_least": 2, "where": "Table 2"}
sheet.claim([push, decay], words, rows["strong decay"], found, **bounds)
for words, column, which in (
    ("highest stable rank of layer 2 (its own over the highest other)", LAST_RANK, max),
    ("lowest trace on the training set (the lowest other over its own)", "train_trace", min),
):
    mine, *its = evidence.paired(*(value(arm, column) for arm in ("penalty", *others)))
    best = pd.DataFrame(its).agg(which)
    found = mine / best if which is max else best / mine
    words = f"of all methods the penalty has the {words}"
    sheet.claim(list(there.values()), words, rows["penalty"], found, where="Table 2", above=1)
for arm in ALL:
    if arm in there:
        words = f"{arm}: test accuracy above 90 % for good (epoch)"
        sheet.extra(there[arm], words, onset(arm), show="{:,.0f}")
for arm in ("penalty", "strong decay", "baseline"):
    words = f"{arm}: exact trace of the Hessian on the test set, at the end"
    sheet.extra(runs[arm], words, value(arm, "test_trace"), show="{:,.0f}")
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab02
#| caption: >
#|   The four columns of Table 2. Dots: our seeds. Diamonds: the paper, at width 512 and
#|   half of the pairs, in the middle of our arms of a method. (a) Onset; at the right edge,
#|   never within the epochs run. (c) Rank by the paper's words, stable rank of 256 rows:
#|   layer 1 filled, layer 2 hollow; dashed, 256, the most it can be. (d) Exact trace on the
#|   training set, at the end of each run.
#| alt: >
#|   Four panels with a row for each method. The paper's diamonds have the penalty first,
#|   with the highest rank and the lowest trace. Ours have dropout first and the penalty
#|   never. Our ranks by the paper's words lie below 10, far left of its diamonds.
#| fold: "Code: draw the figure"
order = [arm for method in PRINTED for arm in OURS[method]]
height = {arm: place for place, arm in enumerate(order)}
figure, axes = plots.panels(4, height=4.2, sharey=True)
edge = 60_000
for method, (when, accuracy, printed_rank, trace) in PRINTED.items():
    at = sum(height[arm] for arm in OURS[method]) / len(OURS[method])
    color = plots.COLOUR[method]
    shown = (min(when, edge), accuracy, printed_rank, trace)
    for panel, x in zip(axes, shown, strict=True):
        name = "paper" if method == "baseline" else ""
        plots.paper(panel, x, at, color=color, label=name)
for arm, y in height.items():
    if arm not in there:
        for panel in axes:
            panel.text(0.35, y, "not run", transform=panel.get_yaxis_transform(),
                       ha="center", va="bottom", fontsize=9, color=plots.GREY)  # fmt: skip
        continue
    dots = {"ls": "", "marker": "o", "ms": 4, "color": there[arm].color, "zorder": 5}
    late = onset(arm).clip(upper=edge)
    axes[0].plot(late, [y] * len(late), **dots)
    axes[1].plot(100 * value(arm, TEST), [y] * len(late), **dots)
    axes[2].plot(rank("hidden.0", arm), [y] * len(late), **dots)
    axes[2].plot(rank("hidden.1", arm), [y] * len(late), **dots | {"mfc": "white"})
    axes[3].plot(value(arm, "train_trace"), [y] * len(late), **dots)
axes[0].set(xscale="log", xlim=(800, 1.3 * edge), xlabel="epoch")
axes[0].set_xticks([1000, 10_000, edge], ["1,000", "10,000", "never"])
axes[0].minorticks_off()
axes[1].set(xlim=(-8, 108), xlabel="test accuracy (%)")
axes[2].set(xscale="log", xlim=(0.8, 900), xlabel="rank")
axes[2].axvline(256, color=plots.GREY, ls="--", lw=1)
axes[3].set(xscale="log", xlim=(5e-4, 200), xlabel="trace")
for panel in axes[2:]:
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
axes[0].set(ylim=(len(order) - 0.5, -0.5))
axes[0].set_yticks(list(height.values()), list(height))
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
plots.letter(axes, ["onset", "at the end", "rank", "Hessian trace"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **{{term}}`Onset`** of the penalty: {tell(onset("penalty"))}; of strong
  {{term}}`weight decay`: {tell(onset("strong decay"))}. For this share of the pairs the paper
  prints {TABLE6[fraction][0]:,} for the penalty and {TABLE6[fraction][1]:,} for strong decay.
* **Without a target**, {{term}}`MAN` at the same strength: {tell(onset("MAN 0.05"))}.
  Dropout 0.1, 0.2, 0.5: {"; ".join(tell(onset(arm)) for arm in OURS["dropout"])}.
* **Rank** by the paper's words, {{term}}`stable rank` of 256 rows after the ReLU. Penalty:
  {tell(rank("hidden.0"), "{:.1f}")} in layer 1; {tell(rank("hidden.1"), "{:.1f}")} in layer 2.
  Strong decay: {tell(rank("hidden.0", "strong decay"), "{:.1f}")} in layer 1;
  {tell(rank("hidden.1", "strong decay"), "{:.1f}")} in layer 2. The paper prints 443 for the
  penalty and 402 for strong decay.
* **{{term}}`Hessian trace`**. Penalty: {tell(value("penalty", "train_trace"), "{:.2g}")} on the
  training set; {tell(value("penalty", "test_trace"), "{:,.0f}")} on the test set. Strong decay:
  {tell(value("strong decay", "train_trace"), "{:.2g}")} on the training set;
  {tell(value("strong decay", "test_trace"), "{:,.0f}")} on the test set.
""")

# %% [markdown]
# ## The idea
#
# The five methods differ in what they draw to where. {term}`Radial suppression` has a
# target, MAN has the same square without one, weight decay does it to weights, and dropout
# sets a share of activations to zero at random:
#
# $$
# \frac\lambda d \bigl( |h| - \sqrt d \bigr)^2 , \qquad
# \frac\lambda d |h|^2 , \qquad
# w \leftarrow (1 - \eta\, \omega)\, w .
# $$
#
# The first two differ in the middle term of the square, and in a constant that has no
# gradient. The penalty is MAN plus a pull *outward* that does not depend on $|h|$:


# %%
def gradient(term, length, d=128):
    """Radial derivative of a term of the loss at a given radius."""
    h = torch.full((d,), length / d**0.5, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(term(h.norm(), d), h)
    return (slope @ h).item() / length


for length in (1.0, 5.0, 11.3, 20.0):
    target = gradient(lambda r, d: 0.05 / d * (r - d**0.5) ** 2, length)
    plain = gradient(lambda r, d: 0.05 / d * r**2, length)
    assert abs(plain - target - 2 * 0.05 / 128**0.5) < 1e-12
    print(f"radius {length:4.1f}: penalty {target:+.4f}, MAN {plain:+.4f}")

# %% [markdown]
# The difference is $2 \lambda / \sqrt d$ at every {term}`radius`. So a comparison of the two
# asks whether the outward pull helps, and not whether suppression does.
#
# The paper's numbers beside ours, at the end of each run:

# %% tags=["hide-input"]
#| fold: "Code: the table of methods"
def cells(arm):
    """Our four columns of an arm."""
    if arm not in there:
        return ["not run"] * 4
    entropy = value(arm, "effective_rank.hidden.0")
    return [
        tell(onset(arm)),
        tell(value(arm, TEST), "{:.1%}"),
        f"{tell(rank('hidden.0', arm), '{:.1f}')}; {tell(entropy)}",
        tell(value(arm, "train_trace"), "{:.2g}"),
    ]


head = ["Method", "Onset", "Test accuracy", "Stable rank of 256 rows; entropy rank of all",
        "Trace, training set", "Paper"]  # fmt: skip
lines = []
for method, (when, accuracy, printed_rank, trace) in PRINTED.items():
    never = "DNG" if when == float("inf") else f"{when:,}"
    said = f"{never}; {accuracy:g} %; {printed_rank}; {trace:g}"
    lines += [[arm, *cells(arm), said] for arm in OURS[method]]
tables.grid(head, lines)

# %% [markdown]
# Ranks are those of layer 1 after the ReLU. *Entropy rank* is the {term}`effective rank` of
# this book; it is the likeliest source of the paper's numbers
# ([Table 1](tab01_diagnostics.ipynb)). "DNG" is the paper's "did not generalise".

# %% [markdown]
# ## The claims

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(base, paper=tiwari2026.PAPER)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
for record in records:
    display(tables.arms(record))

# %% [markdown]
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* Laptop records have width 128 of 512 and 60 % of the pairs, see
#    [Figure 1](fig01_accuracy_curves.ipynb). The paper's onsets for that share are those of
#    its Table 6; MAN and dropout have none there. They run for 12,000 epochs, the others for
#    15,000.
# 2. *Dropout's rate and MAN's strength* are lost in the text. Three rates and two strengths
#    were run, beside decay 0.001. The claims take MAN at the penalty's strength, and any of
#    the rates.
# 3. *Rank.* Layer, rows and definition are open; all combinations are logged.
# 4. *Trace.* The paper has 100 random probes and does not name the data. Ours is exact, of
#    the loss alone.
# 5. *End.* A run ends at a test accuracy of 99.9 %, the paper's at 100,000 epochs. A trace on
#    the training set falls as long as a run goes on.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
quick = tell(ahead, "{:.2f}")
tables.prose(f"""
**Which is first?** The {{term}}`onset` of the fastest other method over that of the penalty:
{quick}. Zero stands for a penalty that does not get there within {push.settings.epochs:,}
epochs. The paper has {PRINTED["MAN"][0] / PRINTED["penalty"][0]:.1f}. A run that ends below
90 % may still be on its way: the penalty's last test accuracy is
{tell(push.last(TEST), "{:.1%}")}.

**The ranks cannot be what they are called.** A matrix of 256 rows has at most rank 256,
and {sum(one[2] > 256 for one in PRINTED.values())} of {len(PRINTED)} printed ranks are above
that ([Table 1](tab01_diagnostics.ipynb)). Our stable ranks are far smaller, since one
shared direction holds most of the activations. Which method has more depends on the layer.

**The trace follows the loss.** At the end the training loss is
{tell(value("penalty", "train_loss"), "{:.0e}")} with the penalty;
{tell(value("strong decay", "train_loss"), "{:.0e}")} with strong decay. With probabilities
near 0 and 1 any network is flat on pairs that it knows by heart. On the test set it is not,
unless it has generalised. So a low trace on the training set does not tell a flat minimum
from a long training.

**The table's own numbers.** Weight decay is said to collapse the rank
([Table 5](tab05_taxonomy.ipynb)). Here it has {PRINTED["strong decay"][2]} against
{PRINTED["baseline"][2]} of the baseline. Onsets of dropout and MAN are round, with round
deviations.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab02-bound
# What is the largest possible stable rank of 256 rows of width 512? And the stable rank if
# every row is a shared vector of length 10 plus noise of length 5?
# ```
#
# ````{solution} ex-tiwari2026-tab02-bound
# :class: dropdown
# ```python
# import torch
# from grokbook.metrics import gram_eigenvalues, stable_rank
# draw = torch.Generator().manual_seed(0)
# noise = torch.randn(256, 512, generator=draw, dtype=torch.float64)
# shared = torch.zeros(512, dtype=torch.float64)
# shared[0] = 10
# print("orthogonal rows:", stable_rank(gram_eigenvalues(torch.eye(256, 512))).item())
# rows = shared + 5 * noise / 512**0.5
# print(f"shared vector: {stable_rank(gram_eigenvalues(rows)).item():.2f}")
# ```
#
# 256, with orthogonal rows of one length; 1.25 with the shared vector.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab02-softmax
# The trace of the Hessian with respect to the logits of one sample is $1 - \sum p_k^2$. What
# is it at a loss of 2, 0.1 and $10^{-6}$, if the rest is on one wrong class?
# ```
#
# ````{solution} ex-tiwari2026-tab02-softmax
# :class: dropdown
# ```python
# import math
# for loss in (2.0, 0.1, 1e-6):
#     p = math.exp(-loss)
#     print(f"loss {loss:g}: {1 - p**2 - (1 - p) ** 2:.2g}")
# ```
#
# It goes to zero with the loss, whatever the weights do.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab02-first
# The table compares a penalty at its best strength with a decay at one strength. Which
# runs would make it fair?
# ```
#
# ```{solution} ex-tiwari2026-tab02-first
# :class: dropdown
# A sweep of the decay, and of the learning rate, for both. [Beyond the
# paper](remedies.ipynb) and its record `tuned` do that.
# ```

# %% [markdown]
# ## Run it yourself
#
# Ten arms at width 128, one to three seeds, some two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/tab02 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(*records)
