# %% [markdown]
# # [Tiwari et al. 2026 · Table 2]{.kicker} In small networks dropout groks early and the penalty not at all

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

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
page = evidence.Page("tiwari2026/tab02", scale, retrain, device)
base = page.record("fig01", arms=("penalty",))
more = page.record()
record_of = dict.fromkeys(OURS, base) | {"dropout": more, "MAN": more}
runs = {
    arm: Run(record_of[method], arm, arm, plots.COLOUR[method])
    for method, arms in OURS.items()
    for arm in arms
}
push, decay, free = (runs[arm] for arm in ("penalty", "strong decay", "baseline"))
rates = [runs[arm] for arm in OURS["dropout"]]
others = {arm: run for arm, run in runs.items() if run is not push}
fraction = push.settings.dataset.options["train_fraction"]
onset = {arm: run.onset() for arm, run in runs.items()}


def value(arm, column):
    """The last value of a column."""
    return runs[arm].last(column)


def rank(place, arm="penalty"):
    """By the paper's words: stable rank of 256 rows."""
    return value(arm, f"stable_rank_256.{place}")


def over(one, two):
    """One over the other, seed by seed."""
    one, two = evidence.paired(one, two)
    return one / two


def many(waits):
    """How many of the three rates have a wait above 0, but not an endless one."""
    table = evidence.joined(waits)
    return (table > 0).sum(axis=1).astype(float)


both = {n: over(rank(f"hidden.{n - 1}"), rank(f"hidden.{n - 1}", "strong decay")) for n in (1, 2)}
flatter = over(decay.last("train_trace"), push.last("train_trace"))
earliest = evidence.joined({arm: onset[arm] for arm in others}).min(axis=1)
after = {arm: evidence.difference(onset[arm], onset["strong decay"]) for arm in OURS["dropout"]}
after = {arm: wait.mask(wait == float("inf"), 0) for arm, wait in after.items()}
before = {arm: evidence.difference(onset["baseline"], onset[arm]) for arm in OURS["dropout"]}
ranks = evidence.joined({arm: rank("hidden.1", arm) for arm in runs})
traces = evidence.joined({arm: value(arm, "train_trace") for arm in runs})
highest = ranks["penalty"] / ranks[list(others)].max(axis=1)
lowest = traces[list(others)].min(axis=1) / traces["penalty"]
tests = {arm: value(arm, "test_trace") for arm in ("penalty", "strong decay", "baseline")}
found = {
    "first": (list(runs.values()), evidence.times(earliest, onset["penalty"])),
    "strong-decay": ([push, decay], evidence.times(onset["strong decay"], onset["penalty"])),
    "no-target": ([runs["MAN 0.05"], decay], over(onset["MAN 0.05"], onset["strong decay"])),
    "man-later": (
        [push, runs["MAN 0.05"]],
        evidence.times(onset["MAN 0.05"], onset["penalty"]),
    ),
    "dropout-late": (rates, many(after)),
    "dropout-early": ([*rates, free], many(before)),
    "accuracy": (push, push.last(TEST)),
    "baseline": (free, free.largest(TEST)),
    "rank": {
        f"layer {n}": ([push, decay], evidence.finished(ratio, push, decay))
        for n, ratio in both.items()
    },
    "trace": ([push, decay], evidence.finished(flatter, push, decay)),
    "highest-rank": (list(runs.values()), evidence.finished(highest, push)),
    "lowest-trace": (list(runs.values()), evidence.finished(lowest, push)),
    "onset": {arm: (runs[arm], onset[arm]) for arm in (*OURS["dropout"], *OURS["MAN"])},
    "test-trace": {arm: (runs[arm], trace) for arm, trace in tests.items()},
}
sheet = claims.read(page.name, found)
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
    dots = {"ls": "", "marker": "o", "ms": 4, "color": runs[arm].color, "zorder": 5}
    late = onset[arm].clip(upper=edge)
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
* **{{term}}`Onset`** of the penalty: {told(onset["penalty"])}; of strong
  {{term}}`weight decay`: {told(onset["strong decay"])}. For this share of the pairs the paper
  prints {TABLE6[fraction][0]:,} for the penalty and {TABLE6[fraction][1]:,} for strong decay.
* **Without a target**, {{term}}`MAN` at the same strength: {told(onset["MAN 0.05"])}.
  Dropout 0.1, 0.2, 0.5: {"; ".join(told(onset[arm]) for arm in OURS["dropout"])}.
* **Rank** by the paper's words, {{term}}`stable rank` of 256 rows after the ReLU. Penalty:
  {told(rank("hidden.0"), "{:.1f}")} in layer 1; {told(rank("hidden.1"), "{:.1f}")} in layer 2.
  Strong decay: {told(rank("hidden.0", "strong decay"), "{:.1f}")} in layer 1;
  {told(rank("hidden.1", "strong decay"), "{:.1f}")} in layer 2. The paper prints 443 for the
  penalty and 402 for strong decay.
* **{{term}}`Hessian trace`**. Penalty: {told(value("penalty", "train_trace"), "{:.2g}")} on the
  training set; {told(value("penalty", "test_trace"), "{:,.0f}")} on the test set. Strong decay:
  {told(value("strong decay", "train_trace"), "{:.2g}")} on the training set;
  {told(value("strong decay", "test_trace"), "{:,.0f}")} on the test set.
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
    entropy = value(arm, "effective_rank.hidden.0")
    return [
        told(onset[arm]),
        told(value(arm, TEST), "{:.1%}"),
        f"{told(rank('hidden.0', arm), '{:.1f}')}; {told(entropy)}",
        told(value(arm, "train_trace"), "{:.2g}"),
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
#
# The paper's ranks and traces are of networks that generalised. A seed of ours whose penalised
# network has no {term}`onset` is no test of them; its numbers are in the table above.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(base, more)

# %% [markdown]
# ## What was run
#
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* Laptop records have width 128 of 512 and 60 % of the pairs, see
#    [Figure 1](fig01_accuracy_curves.ipynb). The paper's onsets for that share are those of
#    its Table 6; MAN and dropout have none there. They run for 12,000 epochs, the others for
#    15,000.
#    At the paper's width the runs of [Figure 1](fig01_accuracy_curves.ipynb) end after 8,000
#    epochs, before strong decay generalises. So this page reads the smaller and longer ones.
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
tables.prose(f"""
**Which is first?** The {{term}}`onset` of the fastest other method over that of the penalty:
{sheet.told("first")}. Zero stands for a penalty that does not get there within {push.settings.epochs:,}
epochs. The paper has {PRINTED["MAN"][0] / PRINTED["penalty"][0]:.1f}. A run that ends below
90 % may still be on its way: the penalty's last test accuracy is
{told(push.last(TEST), "{:.1%}")}.

**The ranks cannot be what they are called.** A matrix of 256 rows has at most rank 256,
and {sum(one[2] > 256 for one in PRINTED.values())} of {len(PRINTED)} printed ranks are above
that ([Table 1](tab01_diagnostics.ipynb)). Our stable ranks are far smaller, since one
shared direction holds most of the activations. Which method has more depends on the layer.

**The trace follows the loss.** At the end the training loss is
{told(value("penalty", "train_loss"), "{:.0e}")} with the penalty;
{told(value("strong decay", "train_loss"), "{:.0e}")} with strong decay. With probabilities
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
