# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · beyond the paper]{.kicker} In the theory's own setting the mean classifier runs away, though not exponentially, and the loss has no spike

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
from functools import reduce

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from grokbook import claims, evidence, metrics, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
record = evidence.record(
    "liu2026/free", scale=scale, retrain=retrain, device=device, arms=("float32",)
)
names = ("float32", "float64 loss", "projection", "repair")
single, exact, projected, repaired = runs = [
    Run(record, name, name, plots.COLOUR[name]) for name in names
]
there = [run for run in runs if run.seeds]
steps = single.settings.epochs
NORM, COSINE, LOGIT = "head_mean_norm", "mean_cosine", "correct_logit"
MASS, ALIGNED, COLLAPSED = "residual_mass", "feature_alignment", "collapsed"
FLOAT32, FLOAT64 = torch.float32, torch.float64
full = single.first(COLLAPSED, at_least=1.0).clip(upper=steps)  # all have collapsed
quarter = (steps - full) / 4


def pace(run, since, until):
    """Growth of ln |W_G| between two steps, per 1,000 steps."""
    size = np.log(run.at(NORM, until) / run.at(NORM, since))
    return 1000 * size / (until - since)


def spikes(run):
    """Spikes of the loss, whether or not samples had collapsed before."""
    return evidence.counted(evidence.bursts(run))


def driven(run, since):
    """|W_G| by Theorem 4 from a step on: each moves it by ηε|μ_G|/K, η that of Adam.

    Adam's largest is lr / eps, reached where gradients are small beside its eps.
    """
    adam = run.settings.optimizer.options
    pull = run.series(MASS) * run.series("feature_mean_norm") / 10
    pull = pull.where(pull.index.to_numpy()[:, None] >= since.to_numpy())
    gap = np.gradient(pull.index.to_numpy(float))[:, None]
    grown = (adam["lr"] / adam["eps"] * pull * gap).cumsum().shift().fillna(0)
    return (run.at(NORM, since) + grown).where(pull.notna())


def falling(run):
    """d ln ε / d ln t over the second half: -1 where ε goes with 1 / t."""
    return np.log2(run.last(MASS) / run.at(MASS, steps / 2))


def with_mean(state):
    """A neural collapse whose head has got a mean, against the features'."""
    mean = state.features.mean(dim=0)
    return state._replace(head=state.head - 0.3 * mean / mean.norm())


def coupled(seed, eta=1e5, eps=1e-7, classes=10):
    """Growth a step and cosine after 8,000 steps of the two updates from any start."""
    torch.manual_seed(seed)
    head, mean = torch.randn(2, 16, dtype=FLOAT64)
    for _ in range(8000):
        before = head.norm()
        head, mean = head - eta * eps / classes * mean, mean - eta * eps * head
    return float(head.norm() / before), float(metrics.cosine(head, mean))


def powers(mass, eta=1e5, classes=10):
    """d ln |W_G| / d ln t by Theorem 7 where ε falls as ``mass``, in two stretches."""
    total, at = 0.0, {}
    for t in range(1, 20_001):
        total += math.log(theory.coupled_growth(eta, mass(t), classes)[0])
        at[t] = total
    ends = (200, 2000, 20_000)
    pairs = zip(ends, ends[1:], strict=False)
    return [(at[late] - at[early]) / math.log(late / early) for early, late in pairs]


THEOREM = "Theorem 7"
GROW = (
    "W_G and μ_G become anti-parallel, and their norms grow exponentially. We call this "
    "process Numerical Feature Inflation"
)
sheet = claims.Sheet("liu2026/inflation", show="{:.2f}")
sheet.claim(
    single,
    "free features, float32: inflation (1 if there is)",
    "the occurrence of Softmax Collapse induces a positive feedback loop",
    evidence.inflated(single),
    where=THEOREM,
    at_least=1,
    show="{:.0f}",
    main=True,
)
sheet.claim(
    single,
    "free features, float32: the cosine of the two means ends at -0.9 or less",
    "progressively aligns anti-parallel to",
    single.last(COSINE),
    where=THEOREM,
    at_most=-0.9,
    show="{:.3f}",
)
sheet.claim(
    single,
    "free features, float32: exponential growth, so that its pace in the last quarter is at "
    "least half that in the first after full collapse (share)",
    "exhibit exponential growth after long-term training",
    pace(single, steps - quarter, steps) / pace(single, full, full + quarter),
    where=THEOREM,
    at_least=0.5,
)
sheet.claim(
    single,
    "free features, float32: the features turn to their mean (mean cosine at least 0.9)",
    "the feature space effectively collapses into a rank-1 subspace aligned with the "
    "global mean",
    single.last(ALIGNED),
    where="Appendix D.3.3",
    at_least=0.9,
)
sheet.claim(
    exact,
    "free features, loss in float64: no inflation (1 if there is)",
    "finite-precision errors in cross-entropy computation can break the zero-sum "
    "constraint of gradients across classes and introduce a systematic drift",
    evidence.inflated(exact),
    where="Abstract",
    at_most=0,
    show="{:.0f}",
)
sheet.claim(
    projected,
    "free features, zero-sum projection: no inflation (1 if there is)",
    "This result supports the prediction that the zero-sum-breaking component is "
    "necessary for the NFI feedback loop.",
    evidence.inflated(projected),
    where="Section 3",
    at_most=0,
    show="{:.0f}",
)
states = [theory.collapse_state(margin) for margin in range(20, 31)]
found = [theory.drift(state, FLOAT32) for state in states]
sheet.exact(
    "margins 20 to 30, float32: one step moves W_G by -(ηε/K) μ_G, within 0.1 %",
    "the expected update to global mean of the classifier weights",
    f"largest error {max(abs(ratio - 1) for ratio, _ in found):.0e}",
    where="Theorem 4",
    held=sum(abs(ratio - 1) <= 1e-3 and cosine <= -0.999 for ratio, cosine in found),
    n=len(found),
)
found = [theory.feature_drift(with_mean(state), FLOAT32) for state in states]
sheet.exact(
    "margins 20 to 30, float32: the gradient at a feature is ε W_G along W_G, within 0.1 %",
    "the gradient of the loss with respect to the feature vector h contains a non-zero "
    "component parallel to W_G",
    f"largest error {max(abs(share - 1) for share in found):.0e}",
    where="Proposition 6",
    held=sum(abs(share - 1) <= 1e-3 for share in found),
    n=len(found),
)
found = [coupled(seed) for seed in range(5)]
rate = theory.coupled_growth(1e5, 1e-7, 10)[0]
sheet.exact(
    "constant ε: the two updates grow by 1 + ηε/√K a step, and turn antiparallel",
    "These two effects form a positive feedback loop",
    f"{found[0][0]:.6f} a step, cosine {max(cosine for _, cosine in found):.6f}",
    where=THEOREM,
    held=sum(abs(g - rate) < 1e-9 and cosine < -1 + 1e-6 for g, cosine in found),
    n=len(found),
)
slopes = [powers(lambda t: 1e-5 / t), powers(lambda t: 1e-5 * math.log(t + 1) / t)]
sheet.exact(
    "ε as 1/t or log t/t: the power of t with which W_G grows no longer rises (by at most "
    "1 % from steps 200 to 2,000 to steps 2,000 to 20,000)",
    "then the accumulated growth of (1 + ηε(t)/√K)^t is polynomial or logarithmic",
    "; ".join(f"{early:.2f} to {late:.2f}" for early, late in slopes),
    where="Section 3",
    held=sum(late <= 1.01 * early for early, late in slopes),
    n=len(slopes),
)
for run in there:
    sheet.extra(run, f"{run.label}: spikes of the loss", spikes(run), show="{:.0f}")
sheet.extra(single, "float32: all collapsed from (step)", full, show="{:,.0f}")
for column, name in ((NORM, "W_G"), ("feature_mean_norm", "μ_G")):
    words = f"float32: norm of {name}, the end over full collapse"
    sheet.extra(single, words, single.last(column) / single.at(column, full))
gained = single.last(NORM) - single.at(NORM, full)
of_theorem = gained / (driven(single, full).iloc[-1] - single.at(NORM, full))
words = "float32: growth of W_G since then over that of Theorem 4 at Adam's largest step"
sheet.extra(single, words, of_theorem)
sheet.extra(single, "float32: mean correct logit at the end", single.last(LOGIT))
for run in (single, exact):
    if run.seeds:
        words = f"{run.label}: d ln ε / d ln t in the second half"
        sheet.extra(run, words, falling(run))
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-inflation
#| caption: >
#|   With a float32 loss the means run away, and nothing else happens. (a) Cosine of the
#|   mean classifier and the mean feature. (b) Norm of the mean classifier. (c) Training
#|   loss of every step for one seed, the first; losses below 1e-9 lie on the lower edge.
#| alt: >
#|   Left: only with a float32 loss does the cosine go to minus one. Middle: only there does
#|   the norm of the mean classifier grow. Right: the loss falls below 1e-9 with every loss
#|   and does not come back.
#| fold: "Code: draw the figure"
figure, (turn, size, loss) = plots.panels(3, height=3.3)
for run in there:
    plots.curve(turn, run, COSINE)
    plots.curve(size, run, NORM, label="")
for run in reversed(there):
    plots.trace(loss, run, label="")
turn.set(xlabel="step", ylabel="cos($W_G$, $\\mu_G$)", ylim=(-1.05, 0.35))
size.set(xlabel="step", ylabel="norm of $W_G$", yscale="log")
loss.set(xlabel="step", ylim=(5e-10, 20))
for panel in (turn, size, loss):
    plots.thousands(panel)
turn.legend(loc="upper right")
plots.letter([turn, size, loss], ["antiparallel", "growth", "no spike"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
others = "; ".join(
    f"{run.label}: {told(run.last(COSINE), '{:.3f}')} and {told(run.last(NORM), '{:.2f}')}"
    for run in there[1:]
)
tables.prose(f"""
Every training sample has a feature vector of its own, free to go anywhere, and a
{{term}}`head` without bias reads them. All numbers are medians over seeds with their range
(n = {len(single.seeds)} in float32).

* **Float32.** By step {told(full)} all samples have
  {{term}}`collapsed <softmax collapse>`. The {{term}}`mean classifier` $W_G$ has grown to
  {told(single.last(NORM), "{:.1f}")} by the end. It has turned against the
  {{term}}`mean feature` $\\mu_G$, with a cosine of {told(single.last(COSINE), "{:.4f}")}.
  The mean correct {{term}}`logit` ends at {told(single.last(LOGIT), "{:.0f}")}. It is
  negative for the right class, and still larger than the wrong ones.
* **The rest** end with a cosine and a norm of {others or "no value, they are not run yet"}.
* **Spikes of the loss** in {steps:,} steps: {"; ".join(f"{run.label} {told(spikes(run))}" for run in there)}.
* **The growth is not exponential.** Per 1,000 steps, $\\ln |W_G|$ grows by
  {told(pace(single, full, full + quarter), "{:.3f}")} in the first quarter after the
  collapse and by {told(pace(single, steps - quarter, steps), "{:.3f}")} in the last.
  Meanwhile $\\mu_G$ becomes only
  {told(single.last("feature_mean_norm") / single.at("feature_mean_norm", full), "{:.2f}")}
  times as long.
""")

# %% [markdown]
# ## The idea
#
# Each row of the head is moved by its own logit's gradient times the feature. If these
# gradients add up to zero over classes, the mean row stays. A collapsed sample has lost one
# of them, and the rest add up to its {term}`residual mass` $\epsilon$ (Theorem 4). In turn
# the features are pushed along the mean row (Proposition 6):
#
# $$
# W_G \leftarrow W_G - \frac{\eta \epsilon}{K}\, \mu_G , \qquad
# \mu_G \leftarrow \mu_G - \eta \epsilon\, W_G .
# $$
#
# Each feeds the other: both grow by $1 + \eta \epsilon / \sqrt K$ a step, in opposite
# directions (Theorem 7). That is {term}`inflation`. The first of the two updates can be
# measured in ten lines, on a head and features that are given:

# %%
def drift(state, dtype):
    """How far a step moves W_G along μ_G, in units of -ηε/K."""
    head = state.head.clone().requires_grad_()
    logits = state.features @ head.T
    cross_entropy(logits.to(dtype), state.labels).backward()
    mean = state.features.double().mean(dim=0)
    step = head.grad.double().mean(dim=0)  # of W_G, over -η
    eps = metrics.residual_mass(logits.detach(), state.labels)
    return float(step @ mean / (mean @ mean) * len(head) / eps)


for dtype in (FLOAT32, FLOAT64):
    for margin in (14, 15.5, 16.7, 18, 20, 25):
        state = theory.collapse_state(margin)
        ratio, _ = theory.drift(state, dtype)
        torch.testing.assert_close(drift(state, dtype), ratio, atol=1e-4, rtol=1e-3)
state = theory.collapse_state(20)
print(f"float32 {drift(state, FLOAT32):.4f}, float64 {abs(drift(state, FLOAT64)):.4f}")

# %% [markdown]
# One is Theorem 4, zero the exact value. The feedback lasts as long as $\epsilon$ does. But
# the same steps enlarge the {term}`margins <margin>`, so that $\epsilon$ falls. Theorem 7
# asks for an $\epsilon$ that changes little; here is what it does.

# %% tags=["hide-input"]
#| name: fig-liu2026-inflation-why
#| caption: >
#|   Each step is as Theorem 4 has it, and the growth is not exponential. (a) Share of the
#|   theorem's drift that one step makes, by the margin of all samples, with the sum of a
#|   row added class after class; dashed, 24 ln 2.
#|   (b) Residual mass; dotted, the slope of 1 / t; float64 loss lies under repair. (c) Norm of the mean classifier in
#|   float32, beside Theorem 4 added up at Adam's largest step (blue), and an exponential of
#|   the pace in the first quarter after full collapse (dotted).
#| alt: >
#|   Left: the drift is near zero below a margin of 15, negative before 16.6, and one from
#|   about 19 on; in float64 it is zero everywhere. Middle: the residual mass falls in
#|   every arm. Right: the measured norm bends down, near the curve of Theorem 4 and far
#|   below the exponential.
#| fold: "Code: draw the drift, the residual mass and the growth"

def in_turn(logits, labels, *, dtype, **_):
    """Softmax cross-entropy whose sums do not hang on how wide a processor adds."""
    leads = (logits - logits.detach().amax(dim=1, keepdim=True)).to(dtype)
    total = reduce(torch.add, leads.exp().unbind(dim=1))
    return (total.log() - leads.gather(1, labels[:, None]).squeeze(1)).sum()


figure, (share, mass, growth) = plots.panels(3, height=3.3)
margins = np.arange(12, 24.01, 0.25)
for dtype, name in ((FLOAT32, "float32"), (FLOAT64, "float64")):
    states = [theory.collapse_state(margin) for margin in margins]
    ratios = [theory.drift(state, dtype, loss=in_turn)[0] for state in states]
    share.plot(margins, ratios, color=plots.COLOUR[name], label=name)
share.axvline(24 * math.log(2), color=plots.GREY, ls="--", lw=1)
share.set(xlabel="margin of all samples", ylabel="drift of $W_G$ / Theorem 4")
share.legend(loc="upper left")
for run in there:
    plots.curve(mass, run, MASS)
middle = single.series(MASS).median(axis=1).loc[1:]
late = middle.loc[steps / 2 :]
times = np.array([steps / 5, steps])
mass.plot(times, 5 * late.iloc[0] * (steps / 2) / times, color=plots.BLACK, ls=":")
mass.text(steps / 2, 10 * late.iloc[0], "1 / t", ha="left")
plots.curve(growth, single, NORM)
norm = single.series(NORM).median(axis=1)
drawn = driven(single, full).median(axis=1).dropna()
growth.plot(drawn.index, drawn, color=plots.BLUE, ls="--")
first = float(claims.median(full))
early = float(claims.median(pace(single, full, full + quarter)))
times = np.linspace(first, steps, 200)
grown = norm.loc[:first].iloc[-1] * np.exp(early * (times - first) / 1000)
growth.plot(times, grown, color=plots.BLACK, ls=":")
growth.set(xlabel="step", ylabel="norm of $W_G$", ylim=(0, 2.2 * norm.max()))
for place, text, color, side in (
    (1.06 * drawn.iloc[-1], "Theorem 4", plots.BLUE, "bottom"),
    (0.7 * norm.iloc[-1], "measured", single.color, "top"),
    (1.7 * norm.max(), "exponential", plots.BLACK, "top"),
):
    growth.text(steps, place, text, color=color, ha="right", va=side)
plots.thousands(growth)
mass.set(xscale="log", yscale="log", xlabel="step", ylabel="residual mass ε")
mass.set(xlim=(100, None), ylim=(1e-14, 3))
mass.legend(loc="lower left")
plots.letter([share, mass, growth], ["one step", "fuel", "growth"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# Inflation is two of three signs after half of the samples have collapsed: the cosine of the
# two means falls by 0.3, the norm of $W_G$ doubles, the mean correct logit becomes
# negative. The paper trains no free features. Its theorems are about them, and the rows
# judge the theorems where their assumptions hold best. Bounds are ours, fixed before
# the runs. Spikes are listed among our own measurements, as the paper itself says that an
# ideal collapse of the features gives none "immediately" (Appendix B.1).

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(
    record,
    paper={
        "loss": "softmax cross-entropy",
        "optimizer": "gradient descent in the theorems, Adam in the experiments",
        "optimizer.lr": "0.001",
        "optimizer.betas": "(0.9, 0.95)",
        "optimizer.eps": "1e-08",
        "optimizer.weight_decay": "0",
    },
)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
# 1. *The model* is ours: features $\mathrm{relu}(A)$ and logits $W\, \mathrm{relu}(A)^\top$,
#    both matrices trained. The paper assumes it in its proofs and does not train it.
# 2. *Optimiser.* The theorems are about gradient descent. At the paper's learning rate it
#    would need $3 \cdot 10^{10}$ steps for a factor of $e$ at $\epsilon = 10^{-7}$. So the
#    runs use Adam, as the paper's experiments do. Adam itself moves $W_G$ a little even where
#    gradients add up to zero.
# 3. *Classes* are balanced, 20 samples each, as Theorem 4 asks.
# 4. *Reduction.* Theorem 7 joins the gradient of a mean over the batch with that of one
#    sample. With a mean over $B$ free samples in both, the pace is $\eta\epsilon / \sqrt{KB}$.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**The theorems hold where their assumptions do.** One step moves $W_G$ as Theorem 4 says, to
the last digits of float32, once all samples have collapsed. Just below the collapse the
drift has the other sign, and in between it is a part of it. The two means then turn
against each other, as Theorem 7 says. The features of single samples do not follow:
their mean cosine with $\\mu_G$ ends at {told(single.last(ALIGNED), "{:.2f}")}.

**The growth is another matter.** Gradients are tiny beside Adam's $\\varepsilon$ here, so
that Adam is nearly gradient descent with the rate $\\eta / \\varepsilon = 10^5$. Added up at
that rate, Theorem 4 predicts the growth of $W_G$: what is measured is
{told(of_theorem, "{:.2f}")} of it, see figure (c) above. But the loop
does not close. The other mean hardly moves, as its steps have the factor of note 4, so $W_G$ is driven at a pace that falls with
$\\epsilon$. In the second half $\\epsilon$ goes with $t$ to the power
{told(falling(single), "{:.1f}")}. The paper grants such a decay to ResNet-18 alone, see
[Figure 13](fig13_resnet.ipynb). Its sentence on it is half right: with
$\\epsilon \\propto 1/t$ growth is polynomial, with $\\log t / t$ it outgrows every power.

**Inflation alone makes no spike here.** The setting has all that the paper's loop needs, for
the whole of training. What it lacks is a way for some samples to lose their margin while
others gain: no two samples share a feature. So this page does not refute the paper's path
to the spike. It says that the path needs more than inflation; the
[interventions](causes.ipynb) ask whether spikes need inflation at all.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-inflation-steps
# By Theorem 7, how many steps does a factor of $e$ take with $\epsilon = 10^{-7}$ and ten
# classes, at the learning rate 0.001, and at Adam's largest step of $10^5$?
# ```
#
# ````{solution} ex-liu2026-inflation-steps
# :class: dropdown
# One over $\ln(1 + \eta\epsilon/\sqrt K)$:
#
# ```python
# import math
# for eta in (1e-3, 1e5):
#     steps = 1 / math.log1p(eta * 1e-7 / math.sqrt(10))
#     print(f"learning rate {eta:g}: {steps:,.0f} steps")
# ```
#
# Thirty thousand million, and 317. The theorem can matter only through Adam, which divides
# by its $\varepsilon$ once the gradients are tiny.
# ````
#
# ```{exercise}
# :label: ex-liu2026-inflation-sign
# At a margin of 15.5, before any sample has collapsed, the drift of figure (a) is negative.
# Which way does the rounding of the correct class's probability go there?
# ```
#
# ````{solution} ex-liu2026-inflation-sign
# :class: dropdown
# The probability is rounded to a multiple of $2^{-24}$ below 1. Whether the missing part
# comes out too large or too small depends on the margin:
#
# ```python
# import torch
# from torch.nn.functional import cross_entropy
# for margin in (15.0, 15.5, 16.0, 20.0):
#     z = torch.zeros(1, 10)
#     z[0, 0] = margin
#     z.requires_grad_()
#     cross_entropy(z, torch.tensor([0])).backward()
#     print(f"margin {margin}: class sum {float(z.grad.double().sum()):+.1e}")
# ```
#
# Only where the correct class has lost its gradient is the sum the residual mass.
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

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record)
