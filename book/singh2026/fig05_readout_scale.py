# %% [markdown]
# # [Singh et al. 2026 · Figure 5]{.kicker} The largest readout scale brings a low test loss sooner than the smallest, unless the learning rate is divided by its square

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words
from grokbook.optimizers import AdamW

plots.use_style()
page = evidence.Page("singh2026/fig05", scale, retrain, device)
record = page.record(arms=("No LN", "scale 0.5, lr fixed", "scale 1.5, lr fixed"))
ALPHAS, EARLY = (0.5, 0.75, 1.0, 1.25, 1.5), (1, 10, 50, 100, 500, 1000)
shades = plots.shades(ALPHAS)


def sweep(rule):
    """The runs of one rule for the learning rate, by their readout scale."""
    arms = {a: "No LN" if a == 1 else f"scale {a:g}, {rule}" for a in ALPHAS}
    return {a: Run(record, arms[a], f"α = {a:g}", shades[a]) for a in ALPHAS}


divided, fixed = sweep("lr/α²"), sweep("lr fixed")
rules = {"η = η₀/α²": divided, "η = η₀": fixed}
every = [*divided.values(), *fixed.values()]
reached = {run: run.reaches(loss=0.01) for run in every}
average = {run: evidence.average(run.series("test_loss")) for run in every}


def spread(runs, epoch):
    """Largest over smallest update among the scales, by seed, at an epoch."""
    found = evidence.joined(
        {a: run.at("update_norm", epoch) for a, run in runs.items()}
    )
    return found.max(axis=1) / found.min(axis=1)


def early(runs):
    """That spread at the early epochs, one column each."""
    return evidence.joined({epoch: spread(runs, epoch) for epoch in EARLY})


def clock_unit(run):
    """What decay takes of every weight in one epoch, ηλ."""
    chosen = run.settings.optimizer.options
    return chosen["lr"] * chosen["weight_decay"]


def clock(run):
    """First epoch with a test loss of 0.01 in units of 1/(ηλ), in which decay acts."""
    return reached[run] * clock_unit(run)


def clocks(alpha):
    return evidence.ratio(clock(divided[alpha]), clock(fixed[alpha]))


SMALL, LARGE = fixed[0.5], fixed[1.5]
found = {
    "ends": ([LARGE, SMALL], evidence.ratio(reached[LARGE], reached[SMALL])),
    "order-fixed": {run: average[run] for run in reversed(fixed.values())},
    "order-divided": {run: average[run] for run in divided.values()},
    "updates-divided": (list(divided.values()), early(divided).min(axis=1)),
    "updates-fixed": (list(fixed.values()), early(fixed).max(axis=1)),
    "clock": {
        f"α = {a:g}": ([divided[a], fixed[a]], clocks(a)) for a in (0.5, 0.75, 1.25)
    },
}
sheet = claims.read(page.name, found)
end = SMALL.settings.epochs
averages = evidence.joined({a: average[run] for a, run in fixed.items()})
ordered = (averages.diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
lazy = reached[divided[1.5]]


def middle(run):
    """The median first epoch with a test loss of 0.01, in words."""
    return words(claims.median(reached[run]))


sheet.box(
    "The readout scale α multiplies the outputs of a network. Earlier work divides the "
    "learning rate by α², and then networks with a large α generalise late. The paper "
    "says that with a fixed learning rate, at which steps are about equally long for each α, a larger α "
    "generalises faster instead.\n\nFor "
    "the smallest and the largest of five scales that is true in every run: with α = "
    f"0.5 the test loss first fell to 0.01 at epoch {middle(SMALL)}, with α = 1.5 at "
    f"{middle(LARGE)} (medians). Between them it is a trend and no rule: by the test loss "
    f"averaged over training (not drawn), all five are in order in {ordered.sum()} of "
    f"{len(ordered)} runs.\n\nWith the divided rate it is the other way round: α = 0.5 "
    f"came to 0.01 at epoch {middle(divided[0.5])}, and α = 1.5 in only "
    f"{(lazy < math.inf).sum()} of {len(lazy)} runs. But a smaller rate also means less weight "
    "decay in each epoch. If time is counted by how much decay has been applied, and not in epochs, "
    "the two rules differ far less (b)."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-05
#| caption: >
#|   With a fixed learning rate (blue) the largest scale is first; with the rate
#|   divided by α² (orange, hollow) it is last. (a) The height is the first epoch with a test
#|   loss of 0.01. Dots are single runs, and lines join their medians. A triangle at
#|   the end of training stands for runs that had not come to 0.01. For α = 1.5 most
#|   orange runs had not, so the orange line ends before it. The small curve is the
#|   test loss of one run over the epochs, and its dot marks the epoch that counts.
#|   Diamonds are the authors' mean curves; where none stands, theirs had not come to
#|   0.01. (b) The same epochs times ηλ, learning rate
#|   times weight decay, which is the share of every weight that decay takes in one
#|   epoch. By this clock the two rules differ far less.
#| alt: >
#|   (a) With the divided rate a line rises from 1,400 epochs at a scale of 0.5 to 8,000 at
#|   1.25, and at 1.5 most runs have not arrived. With the fixed rate it falls from 7,800 to
#|   4,900. (b) Both lines lie between 4 and 8 units.
#| fold: "Code: draw the figure"
events = evidence.reference("singh2026/fig05_events")
theirs = events.query(
    "quantity == 'test_loss at most' and value == 0.01 and stat == 'mean'"
)
theirs = theirs.set_index("series").epoch.dropna()
figure, (onset, units) = plots.panels(2, height=3.7)
styles = {"η = η₀/α²": (divided, plots.ORANGE), "η = η₀": (fixed, plots.BLUE)}
for runs, color in styles.values():
    for axes, events_of in ((onset, reached), (units, {r: clock(r) for r in every})):
        trained = [run for run in runs.values() if run.seeds]
        medians = {run: claims.median(events_of[run]) for run in trained}
        there = [run for run, value in medians.items() if value < math.inf]
        scales = [run.settings.alpha for run in there]
        axes.plot(scales, [medians[run] for run in there], color=color)
        for run in trained:
            alpha = run.settings.alpha
            came = events_of[run][reached[run] < math.inf]
            fill = "white" if runs is divided else color
            style = {"color": color, "mfc": fill, "alpha": 0.7}
            axes.plot([alpha] * len(came), came, "o", ms=5, **style)
            never = len(came) < len(reached[run])
            last = end if axes is onset else end * clock_unit(run)
            axes.plot([alpha] * never, [last] * never, "^", ms=8, color=color)
    for alpha, run in runs.items():
        if run.arm in theirs and alpha != 1:
            plots.paper(onset, [alpha], [theirs[run.arm]], label="", color=color)
if "No LN" in theirs:
    plots.paper(onset, [1], [theirs["No LN"]], label="")
for axes in (onset, units):
    axes.set(xlabel="readout scale α")
    axes.set_xticks(ALPHAS, [f"{alpha:g}" for alpha in ALPHAS])
onset.set(ylabel="first epoch at test loss 0.01", ylim=(0, 1.06 * end))
onset.yaxis.set_major_formatter(lambda v, _: f"{v / 1000:g}k" if v else "0")
units.set(ylabel="the same epochs times ηλ", ylim=(0, 1.06 * units.get_ylim()[1]))
onset.text(0.56, 0.8 * end, "rate fixed", color=plots.BLUE)
onset.text(0.81, 0.29 * end, "rate divided by α²", color=plots.ORANGE)
units.text(0.56, 8.1, "rate fixed", color=plots.BLUE)
units.text(0.5, 3.8, "rate divided by α²", color=plots.ORANGE)
some = f"α = 1.5: {(lazy < math.inf).sum()} of {len(lazy)} runs"
onset.text(1.46, 0.9 * end, some, color=plots.ORANGE, ha="right")
plots.paper(onset, [], [])
units.plot([], [], "D", mfc="white", color=plots.BLACK, label="paper")
units.legend(loc="lower right")
one = SMALL.series("test_loss").iloc[:, 0].dropna()
inset = onset.inset_axes((0.56, 0.05, 0.38, 0.12))
inset.plot(one, color=plots.BLUE, lw=1.3)
inset.plot([reached[SMALL].iloc[0]], [0.01], "o", color=plots.BLUE, ms=5)
inset.set_title("test loss of one run", fontsize=9, loc="left")
inset.set(xticks=[], yticks=[])
plots.letter((onset, units), ["epochs", "by the clock of decay"])
plots.show(figure)

# %% [markdown]
# ## What to see
#
# * **Rate divided** (orange), as in earlier work on lazy training: the smaller the
#   {term}`readout scale`, the lower the test loss over the whole training, in every run.
# * **Rate fixed** (blue). The order of the ends turns round. Runs of one scale differ more
#   than neighbouring scales do.
# * **By the clock of decay** (b) the two rules differ far less. With the rate divided, a
#   large scale has a smaller rate, and so less decay in each epoch.


# %% tags=["hide-input"]
#| fold: "Code: epochs and average losses in a table"
logged = events[events["quantity"] == "test_loss average"].set_index("series")["value"]
rows = [
    [
        rule,
        f"{alpha:g}",
        told(reached[run]),
        f"{theirs[run.arm]:,.0f}" if run.arm in theirs else "—",
    ]
    + [
        told(clock(run), "{:.1f}"),
        told(average[run], "{:.1f}"),
        f"{logged[run.arm]:.1f}",
    ]
    + [told(run.falls_back(loss=0.01).dropna(), "{:.0%}", nothing="—")]
    for rule, runs in rules.items()
    for alpha, run in runs.items()
]
head = ["Rate", "Scale α", "First at a test loss of 0.01", "Paper, mean curve"]
head += ["Epoch times ηλ", "Average test loss", "Paper, mean", "Later logs above 0.01"]
tables.grid(head, rows)

# %% tags=["hide-input"]
#| name: fig-singh2026-05-updates
#| caption: >
#|   With the divided rate the updates of the five scales differ from the first epoch on;
#|   with a fixed rate they hardly do. Length of the update of an epoch, medians of the
#|   runs: (a) rate over α², (b) rate fixed.
#| alt: >
#|   Two panels on logarithmic axes. Left, the updates of the five scales lie apart from the
#|   first epoch. Right, they lie on each other for the first hundreds of epochs.
#| fold: "Code: draw the updates"
figure, panels = plots.panels(2, height=3.0, sharey=True)
for axes, runs in zip(panels, rules.values(), strict=True):
    for run in runs.values():
        plots.curve(axes, run, "update_norm", each_seed=False)
    axes.set(xscale="log", yscale="log", xlabel="epoch")
panels[0].set(ylabel="length of the update")
panels[0].legend(loc="lower left")
plots.letter(panels, ["rate over α²", "rate fixed"])
plots.show(figure)

# %% [markdown]
# ## The idea
#
# With $o = \alpha f(x; \theta)$ the chain rule puts the {term}`readout scale` α into the
# gradient of the cross-entropy. With a squared loss and large outputs there is a second
# factor, and a plain gradient step of length $\eta_0 / \alpha^2$ undoes both. Adam divides
# every entry by its own recent size, and any common factor is gone:
#
# $$
# \Delta\theta = - \eta\, \frac{\alpha m}{\sqrt{\alpha^2 v} + \epsilon}
#   \approx - \eta\, \frac{m}{\sqrt{v}} .
# $$
#
# What is left of $\eta = \eta_0 / \alpha^2$ is a learning rate, and a
# {term}`weight decay` of $\eta \lambda$ per epoch. Both are nine times larger at α = 0.5 than
# at 1.5.


# %%
def first_step(alpha, rate):
    """Length of AdamW's first step if α only multiplies the gradient."""
    torch.manual_seed(0)
    weights = torch.zeros(10_000, requires_grad=True)
    weights.grad = alpha * 0.01 * torch.randn(10_000)
    AdamW([weights], lr=rate).step()
    return float(weights.detach().norm())


for alpha in ALPHAS:
    steps = first_step(alpha, 1e-3 / alpha**2), first_step(alpha, 1e-3)
    print(
        f"α = {alpha:<4g}   rate over α²: {steps[0]:.3f}   rate fixed: {steps[1]:.3f}"
    )

# %% [markdown]
# ```{include} ../explorables/sweep.md
# ```
#
# ```{include} ../generated/explore/sweep.md
# ```
#
# ## The claims
#
# The test loss averaged over training exists for runs that never come to 0.01, too. An order is
# judged seed by seed. Updates are judged at the epochs that were registered first, 1 to
# 1,000. For a time this page left out the last two; the table under the claims says so.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# The values of α are those of the official scripts
# ([`jaisidhsingh/layernorm-grok`](https://github.com/jaisidhsingh/layernorm-grok), commit
# `2199213`, `scripts/lazy.sh` and `scripts/lazy_wrong.sh`); the paper has no list.
#
# 1. *Running minimum.* In panel (d) the paper draws the running minimum of α = 0.5 over the
#    first 2,000 epochs, which hides its spikes. Here the curve itself is drawn.
# 2. *Average.* Losses are logged every 10 epochs up to 2,000 and every 20 from there, and
#    averaged by the trapezium rule. The authors' logs have every epoch.
# 3. *Activation, start* and what else holds for the chapter are on its [front page](index.md).
# 4. The [smaller task](index.md) of this chapter misled here: modulo 37 a larger scale at a
#    fixed rate was faster only up to 1. No verdict rests on it.

# %% [markdown]
# ## Reading the result
#
# **The paper's point holds.** Dividing the learning rate by α² under AdamW studies the
# learning rate and the decay, and not laziness. With a fixed rate the trend turns round, for
# the two ends in every seed. It is not strict from step to step. Neighbouring scales change
# places in most of our seeds. In the authors' logs they do by the epoch at which the mean
# loss reaches 0.01 (table), though not by the average loss.

# %% tags=["remove-input"]
least = events[events["quantity"] == "update_norm ratio, least to 1,000"]
least = least.set_index("series").loc["lr/α²"]
tables.prose(f"""
**Decay explains most of it.** At α = 0.5 the divided rate takes
{sheet.told("clock α = 0.5")} times as long as the fixed one if epochs are counted in units of
$1/\\eta\\lambda$. Counted plainly, they differ by a factor of
{told(evidence.ratio(reached[SMALL], reached[divided[0.5]]), "{:.1f}")}.

**Updates.** The first step is what the formula says. "Not comparable" is true of the start
and not of every later epoch. While the training set is being fitted the five curves cross:
in the authors' logs their ratio is {least["value"]:.1f} at epoch {least["epoch"]:,.0f}.

**Temperature?** α is the inverse of a softmax temperature, as the paper says. That
describes α; neither the paper nor this page tests how it would act.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-05-eps
# Adam's eps is 1e-8. How long is its step, in units of η, for a steady gradient entry that is
# $10^{-8}$ at α = 1, when α is 0.5, 1 and 1.5?
# ```
#
# ````{solution} ex-singh2026-05-eps
# :class: dropdown
# ```python
# for alpha in (0.5, 1.0, 1.5):
#     print(f"α = {alpha:g}: {alpha * 1e-8 / (alpha * 1e-8 + 1e-8):.2f}")
# ```
#
# 0.33, 0.5 and 0.6. Late in training, when the training loss is near $10^{-6}$, many
# gradients are of that size. A larger α then means longer steps at the same rate. Part of
# panel (c) may be this. The authors also logged runs with eps = 0 and another start: there
# too a larger α was on the whole faster.
# ````
#
# ```{exercise}
# :label: ex-singh2026-05-decay
# Dividing the learning rate by α² divides the decay per epoch by α² as well. How would you
# keep the two apart?
# ```
#
# ```{solution} ex-singh2026-05-decay
# :class: dropdown
# Decay 1 becomes decay α²: `adamw(1e-3 / alpha**2, weight_decay=alpha**2)` keeps the product
# at 0.001. [Figure 4](fig04_rate_and_decay.ipynb) varies the learning rate in this way, and
# weight decay alone.
# ```
#
# ```{exercise}
# :label: ex-singh2026-05-absorb
# A network with α = 2 computes the same function as one with α = 1 and an unembedding twice
# as large. Are they also trained alike?
# ```
#
# ```{solution} ex-singh2026-05-absorb
# :class: dropdown
# No. AdamW moves an entry by about η, which is half as much in relation to an entry twice
# as large, and weight decay shrinks the unembedding but not α.
# ```

# %% [markdown]
# ## Run it yourself
#
# A smaller task (addition modulo 37, 5,000 epochs) with three seeds, in about two hours
# on one core:
#
# ```bash
# make page PAGE=singh2026/fig05 SCALE=laptop
# ```
