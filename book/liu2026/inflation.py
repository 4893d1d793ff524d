# %% [markdown]
# # [Liu et al. 2026 · beyond the paper]{.kicker} Close to the theory's setting the mean classifier grows, but the loss never spikes

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import torch
from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, models

plots.use_style()
page = evidence.Page("liu2026/inflation", scale, retrain, device)
record, descents = (
    page.record("free", arms=("float32",)),
    page.record("fig09descent", arms=("float32, rate 100",)),
)
runs = [
    Run(record, name, name, plots.COLOUR[name])
    for name in ("float32", "float64 loss", "projection", "repair")
]
single, exact, projected, _ = runs
slow, still = (
    Run(descents, name, name, plots.GREY)
    for name in ("float32, rate 100", "float64 loss, rate 1,000")
)
steps = single.settings.epochs
NORM, COSINE, LOGIT, FEATURE, MASS = (
    "head_mean_norm",
    "mean_cosine",
    "correct_logit",
    "feature_mean_norm",
    "residual_mass",
)
full = single.first("collapsed", at_least=1.0).clip(upper=steps)  # all have collapsed
quarter = (steps - full) / 4


def pace(run, since, until):
    """Growth of ln |W_G| between two steps, per 1,000 steps."""
    return 1000 * np.log(run.at(NORM, until) / run.at(NORM, since)) / (until - since)


def driven(run, since):
    """|W_G| by Theorem 4 from a step on: each moves it by ηε|μ_G|/K, η that of Adam.

    Adam's largest is lr / eps, reached where gradients are small beside its eps.
    """
    adam = run.settings.optimizer.options
    pull = run.series(MASS) * run.series(FEATURE) / 10
    pull = pull.where(pull.index.to_numpy()[:, None] >= since.to_numpy())
    gap = np.gradient(pull.index.to_numpy(float))[:, None]
    grown = (adam["lr"] / adam["eps"] * pull * gap).cumsum().shift().fillna(0)
    return (run.at(NORM, since) + grown).where(pull.notna())


def parted(run):
    """The first look after the switch to gradient descent."""
    every, low = run.settings.log, run.settings.wrappers[0].options["loss"]
    return np.ceil(evidence.crossing(run.trace(), at_most=low) / every) * every


def quarters(table):
    """Change in the last quarter of gradient descent over that in the first."""
    found = {}
    for seed, start in parted(slow).items():
        ends, of = (
            np.linspace(start, slow.settings.epochs, 5)[[0, 1, 3, 4]],
            table[seed].dropna(),
        )
        early, _, late = np.diff(np.interp(ends, of.index, of))
        found[seed] = late / early
    return Series(found, dtype=float)


first, last = pace(single, full, full + quarter), pace(single, steps - quarter, steps)
gained, since = single.last(NORM) - single.at(NORM, full), driven(single, full).iloc[-1]
falling = np.log2(
    single.last(MASS) / single.at(MASS, steps / 2)
)  # power of t in the second half
longer = {
    name: single.last(of) / single.at(of, full)
    for name, of in (("W_G", NORM), ("μ_G", FEATURE))
}
count = {run: instability.counted(instability.bursts(run)) for run in runs}
# The network of Figure 1, whose features the theorems take to have collapsed already.
neural = page.record("neural")
network_run = Run(neural, "float32", "MLP, float32", plots.COLOUR["float32"])
WITHIN = "nc.within_over_between"
rounded = network_run.first("collapsed", above=0)  # first log with a loss of zero
jump = instability.earliest(instability.bursts(network_run, late=True))
found = {
    "inflation": (single, instability.inflated(single)),
    "anti-parallel": (single, single.last(COSINE)),
    "exponential": (single, last / first),
    "rank-one": (single, single.last("feature_alignment")),
    "float64": (exact, instability.inflated(exact)),
    "projection": (projected, instability.inflated(projected)),
    "eq-12": (
        single,
        single.last(NORM)
        * single.last(FEATURE)
        * single.last(COSINE)
        / single.last(LOGIT),
    ),
    "exponential-descent": (slow, quarters(np.log(slow.series(NORM)))),
    "descent": {
        "pace of W_G's part along -μ_G": (
            slow,
            quarters(-slow.series(NORM) * slow.series(COSINE)),
        ),
        "pace of |μ_G|": (slow, quarters(slow.series(FEATURE))),
    },
    "descent-size": {
        run.label: (run, run.last(NORM) / run.at(NORM, parted(run)))
        for run in (slow, still)
    },
    "spikes": {run.label: (run, count[run]) for run in runs},
    "of-theorem": (single, gained / (since - single.at(NORM, full))),
    "nc1": (network_run, network_run.at(WITHIN, rounded)),
    "nc2": (network_run, network_run.at("nc.angle_error", rounded)),
    "nc3": (network_run, network_run.at("nc.duality_error", rounded)),
    "variance": (
        network_run,
        evidence.testable(
            network_run.largest(WITHIN, since=rounded, until=jump), np.isfinite(jump)
        ),
    ),
}
sheet = claims.read(page.name, found)
times_longer = evidence.words(claims.median(longer["W_G"]), "{:.1f}")
sheet.box(
    "The paper says that a collapse, in which float32 rounds losses to zero, starts a feedback "
    "loop, called inflation, and then a loss spike. In the loop two means drive each other in "
    "opposite directions: the mean classifier (the mean of the last layer's rows) and the mean "
    "of the features, the inputs of that layer.\n\nWe trained nearly what the theory assumes: a last "
    "layer whose features are trained directly, with no network before them. Two things are our choice: "
    "Adam, not gradient descent, and a loss averaged over all samples, which with gradient descent would move "
    "the features less than in the theory.\n\nWith a float32 loss the mean classifier grows to "
    f"{times_longer} times its length at the collapse and turns against the mean feature (not drawn); "
    "with a float64 loss it does neither. We test these signs of inflation, so the sentence holds. But "
    "the mean feature hardly grows (not drawn), so that the loop does not close. The growth becomes "
    f"slow, and {told(count[single])} loss spikes follow in "
    f"{steps:,} epochs: inflation alone makes none here. The paper trains no such network, so task, "
    "size and length are our choice.",
    runs=sheet.own,
)

# %% tags=["hide-input"]
#| name: fig-liu2026-inflation
#| caption: >
#|   With a float32 loss the mean classifier grows, and the loss does not spike. (a) Length of the
#|   mean classifier; every run is thin, the median thick. The number is the growth since all
#|   samples collapsed. Three controls lie on one another: the loss in float64; the projection, which
#|   makes the gradients of a sample add up to zero over the classes; and the repair, which gives
#|   the correct class its lost gradient back. (b) Training loss in one run of each. Losses below 1e-9 lie on the
#|   lower edge. A step is an epoch.
#| alt: >
#|   Left: only with a float32 loss does the mean classifier grow. Right: the loss
#|   falls below 1e-9 with every loss and does not come back.
#| fold: "Code: draw the figure"
figure, (size, loss) = plots.panels(2, height=3.6)
for run in runs:
    plots.curve(size, run, NORM)
for run in runs[::-1]:
    plots.trace(loss, run)
size.set(xlabel="step", ylabel="length of mean classifier", yscale="log")
top = claims.median(single.last(NORM))
words = f"float32: {times_longer} times as long "
size.text(steps, 1.25 * top, words, color=single.color, ha="right")
level = claims.median(runs[-1].last(NORM))
size.text(steps, 0.8 * level, "three controls ", color=plots.GREY, ha="right", va="top")
size.set_ylim(top=3 * top)
loss.set(xlabel="step", ylim=(5e-10, 20))
for panel in (size, loss):
    plots.thousands(panel)
figure.legend(*size.get_legend_handles_labels(), loc="outside upper center", ncols=4)
plots.letter([size, loss], ["mean classifier", f"{told(count[single])} loss spikes"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
Every training sample has a feature vector of its own, free to go anywhere, and a {{term}}`head` without bias reads them.

* **In float32 the two means turn apart.** By step {told(full)} all samples have {{term}}`collapsed <softmax collapse>`.
  The cosine of {{term}}`mean classifier` and {{term}}`mean feature` ends at {told(single.last(COSINE), "{:.4f}")}.
* **The mean classifier grows, but not exponentially.** Per 1,000 steps, the logarithm of its norm gains {told(first, "{:.3f}")} in
  the first quarter after the collapse and {told(last, "{:.3f}")} in the last quarter.
* **With a float64 loss, a projection or a repair** there is no {{term}}`inflation`: cosine and norm stay.
* **The loss never spikes**, with any of the four losses, in {steps:,} steps.
""")

# %% [markdown]
# ## The idea
#
# The theory assumes that features are free: each training sample has a vector of its own. A
# {term}`collapse <softmax collapse>` leaves a gradient sum of $\epsilon$, the {term}`residual mass`, and then
#
# $$
# W_G \leftarrow W_G - \frac{\eta \epsilon}{K}\, \mu_G , \qquad
# \mu_G \leftarrow \mu_G - \eta \epsilon\, W_G .
# $$
#
# Each of the two means feeds the other: this is {term}`inflation`. [Another page](theorems.ipynb) checks these
# updates, step by step. Here we train exactly this network:


# %%
def logits(head, features):
    """W (classes, width) and A (samples, width): both are trained, and nothing else."""
    return features.relu() @ head.T


network = models.FreeFeatures(10, rows=200, width=64)
torch.testing.assert_close(
    logits(network.W, network.A), network(torch.arange(200)[:, None])
)

# %% [markdown]
# The feedback lasts as long as $\epsilon$ does. But the same steps enlarge the {term}`margins <margin>`, so that
# $\epsilon$ falls. Theorem 7 asks for an $\epsilon$ that changes little. The next figure shows how far it falls.

# %% tags=["hide-input"]
#| name: fig-liu2026-inflation-why
#| caption: >
#|   The residual mass falls, so the growth is not exponential. (a) Residual mass; float64 loss
#|   lies under repair. (b) Norm of the mean classifier in float32, with Theorem 4 added up at
#|   Adam's largest step (dashed), and with an exponential of the pace in the first quarter
#|   after full collapse (dotted).
#| alt: >
#|   Left: the residual mass falls with every loss, from 1 to below 1e-7. Right: the measured
#|   norm bends down, near the curve of Theorem 4 and far below the exponential.
#| fold: "Code: draw the residual mass and the growth"
figure, (mass, growth) = plots.panels(2, height=3.6)
for run in runs:
    plots.curve(mass, run, MASS)
mass.set(
    xscale="log", yscale="log", xlabel="step", ylabel="residual mass", xlim=(100, None)
)
plots.curve(growth, single, NORM, label="")
predicted = driven(single, full).median(axis=1).dropna()
growth.plot(predicted, color=plots.BLACK, ls="--", label="Theorem 4")
times, since = (
    np.linspace(claims.median(full), steps, 200),
    claims.median(single.at(NORM, full)),
)
exponential = since * np.exp(claims.median(first) * (times - times[0]) / 1000)
growth.plot(times, exponential, color=plots.BLACK, ls=":", label="exponential")
growth.set(
    xlabel="step", ylabel="norm of mean classifier", ylim=(0, 2.2 * predicted.max())
)
plots.thousands(growth)
handles = [
    h + k
    for h, k in zip(
        *(one.get_legend_handles_labels() for one in (mass, growth)), strict=True
    )
]
figure.legend(*handles, loc="outside upper center", ncols=4)
plots.letter([mass, growth], ["what drives the growth", "growth"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# Inflation is two of three signs after half of the samples have collapsed: the cosine of the
# two means falls by 0.3, the norm of $W_G$ doubles, the mean correct logit becomes
# negative. The paper trains no free features. But its theorems are about them, and the rows
# judge their consequences where the assumptions hold best. Bounds are ours, fixed before
# the runs except where a row says otherwise. Spikes are measurements of ours, as the paper itself says that an
# ideal collapse of the features gives none "immediately" (Appendix B.1).

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, descents, neural)

# %% [markdown]
# ## What was run
#
# 1. *The model* is ours: features $\mathrm{relu}(A)$ and logits $W\, \mathrm{relu}(A)^\top$,
#    both matrices trained. The paper assumes it in its proofs and does not train it.
# 2. *Optimiser.* The theorems are about gradient descent. At the paper's learning rate it
#    would need $3 \cdot 10^{10}$ steps for a factor of $e$ at $\epsilon = 10^{-7}$. So the
#    runs use Adam, as the paper's experiments do. Adam moves $W_G$ a little even if
#    gradients add up to zero.
# 3. *Classes* are balanced, 20 samples each, as Theorem 4 asks.
# 4. *Batch.* The gradient of a mean over 200 samples moves each free feature 200 times less than
#    Theorem 7 assumes, so $\mu_G$ hardly moves.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**The two means turn against each other**, as Theorem 7 says. The features of single samples do not follow:
their mean cosine with $\\mu_G$ ends at {sheet.told("rank-one")}. The mean correct {{term}}`logit` ends at {told(single.last(LOGIT), "{:.0f}")}. It is
negative, and still larger than the wrong ones.

**The growth is not exponential.** Gradients are tiny compared with Adam's $\\varepsilon$, so Adam is nearly gradient
descent at the rate $\\eta / \\varepsilon = 10^5$. Added up at this rate, Theorem 4 predicts the growth of $W_G$: we measure
{sheet.told("of-theorem")} of it. But the loop does not close. The mean feature hardly moves, as its steps have the factor of
note 4: it becomes {told(longer["μ_G"], "{:.2f}")} times as long. So $\\epsilon$ alone sets the pace of $W_G$, and it falls as $t$ to the power
{told(falling, "{:.1f}")} in the second half. The paper concedes such a decay for ResNet-18 alone
([Figure 13](fig13_resnet.ipynb)).

**Under gradient descent in a network the question is open.** [Figure 9](fig09_cifar_mlp.ipynb) continues from a state that Adam
reached, with the theorems' own optimizer. At rate 100 with a float32 loss, $W_G$ grows to {sheet.told("descent-size float32, rate 100", "{:.2f}")} times
its norm. With a float64 loss it stays, even at the tenfold rate. The part of $W_G$ along $-\\mu_G$ moves at constant speed, as
Theorem 4 says. $|\\mu_G|$ grows faster and faster. The pace of $\\ln |W_G|$ in the last quarter is {sheet.told("exponential-descent")} of
that in the first; growth along a line would give less than 1. So exponential growth is not excluded here.
But the growth is too small to distinguish an exponential from another curve.

**A real network has not collapsed to this state when its losses begin to round.** The theorems take the features of a class to be
one point (*neural collapse*: variance within classes vanishes, class means form a regular simplex, and the last layer is their
image). In the paper's wide MLP on images, at the first log with a loss of exactly zero (epoch {told(rounded)}), variance within the classes is
{sheet.told("nc1")} times that between them, the cosines of the class means are {sheet.told("nc2")} off, and the last layer is
{sheet.told("nc3")} from its place, of at most 2 (runs: {len(rounded)}). From there to the first slingshot, at step {told(jump)}, the first of these is at
most {sheet.told("variance")}.

**Inflation alone makes no spike here.** The setting has all that the paper's loop needs, for
the whole training. But no two samples share a feature, so hardly any sample can lose its margin while
others gain. So this page does not refute the paper's path to the spike. It says that the path needs more than
inflation. Whether spikes need inflation at all is the question of our [interventions](causes.ipynb).
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-inflation-pace
# Let only $W_G$ move, at the constant speed $v$. How does the pace of $\ln |W_G|$ change with time?
# Would it pass our test of exponential growth?
# ```
#
# ````{solution} ex-liu2026-inflation-pace
# :class: dropdown
# $|W_G| = W_0 + v t$, so the pace is $v / (W_0 + v t)$ and falls:
#
# ```python
# import math
# for gained in (40, 1 / 8):
#     size = [1 + gained * part for part in (0, 0.25, 0.75, 1)]
#     early, late = math.log(size[1] / size[0]), math.log(size[3] / size[2])
#     print(f"grown by {gained:g}: last quarter over first {late / early:.2f}")
# ```
#
# After a growth by 40 it fails our bound of a half, and after a growth by an eighth it passes. So the
# test tells little about gradient descent, which gains about an eighth.
# ````
#
# ```{exercise}
# :label: ex-liu2026-inflation-adam
# The gradients are tiny compared with Adam's $\varepsilon = 10^{-8}$. What does Adam do then, and
# what would it do with $\varepsilon = 10^{-12}$?
# ```
#
# ````{solution} ex-liu2026-inflation-adam
# :class: dropdown
# It divides by $\sqrt{\hat v} + \varepsilon$, so the size of the gradient decides:
#
# ```python
# for eps in (1e-8, 1e-12):
#     steps = [1e-3 * g / (g + eps) for g in (1e-10, 1e-11)]
#     print(f"ε {eps:g}: steps {steps[0]:.1e} and {steps[1]:.1e}")
# ```
#
# With $10^{-8}$ a ten times smaller gradient makes a ten times smaller step, as in gradient descent.
# With $10^{-12}$ both steps are nearly the learning rate.
# ````
#
# ```{exercise}
# :label: ex-liu2026-inflation-network
# Why can one sample's margin shrink in a network, but hardly here, while $W_G$ and $\mu_G$
# run away along one common direction?
# ```
#
# ```{solution} ex-liu2026-inflation-network
# :class: dropdown
# A step along $W_G$ changes all logits of a sample alike, so margins stay as they are. In
# a network the same weights serve all samples, and a step that suits most of them may turn
# the feature of one towards another class. Free features have nothing in common but $W$.
# ```

# %% [markdown]
# ## Run it yourself
#
# A quarter of the steps and three seeds, in about two minutes on one core.
#
# ```bash
# make page PAGE=liu2026/inflation SCALE=laptop
# ```
