# %% [markdown]
# # [Liu et al. 2026 · beyond the paper]{.kicker} In the theory's own setting the mean classifier inflates without any spike

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
from pandas import Series
from torch.nn.functional import cross_entropy

from grokbook import claims, evidence, metrics, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/inflation", scale, retrain, device)
record = page.record("free", arms=("float32",))
names = ("float32", "float64 loss", "projection", "repair")
runs = [Run(record, name, name, plots.COLOUR[name]) for name in names]
single, exact, projected, _ = runs
steps = single.settings.epochs
NORM, COSINE, LOGIT = "head_mean_norm", "mean_cosine", "correct_logit"
FEATURE = "feature_mean_norm"
MASS, ALIGNED, COLLAPSED = "residual_mass", "feature_alignment", "collapsed"
FLOAT32, FLOAT64 = torch.float32, torch.float64
full = single.first(COLLAPSED, at_least=1.0).clip(upper=steps)  # all have collapsed
quarter = (steps - full) / 4


def pace(run, since, until):
    """Growth of ln |W_G| between two steps, per 1,000 steps."""
    size = np.log(run.at(NORM, until) / run.at(NORM, since))
    return 1000 * size / (until - since)


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


def parted(run):
    """The first look after the switch to gradient descent."""
    every, low = run.settings.log, run.settings.wrappers[0].options["loss"]
    return np.ceil(evidence.crossing(run.trace(), at_most=low) / every) * every


def quarters(table):
    """Change in the last quarter of gradient descent over that in the first."""
    start, end = parted(slow), slow.settings.epochs
    found = {}
    for seed in slow.seeds:
        ends = np.linspace(start[seed], end, 5)[[0, 1, 3, 4]]
        of = table[seed].dropna()
        early, _, late = np.diff(np.interp(ends, of.index, of))
        found[seed] = late / early
    return Series(found, dtype=float)


descents = page.record("fig09descent", arms=("float32, rate 100",))
slow = Run(descents, "float32, rate 100", "float32, rate 100", plots.GREY)
still = Run(descents, "float64 loss, rate 1,000", "float64 loss, rate 1,000", plots.GREY)
spread = [theory.collapse_state(margin) for margin in (5, 10, 20, 30)]
masses = [  # the residual mass, and eq. 20
    (
        float(metrics.residual_mass(of.features.double() @ of.head.double().T, of.labels)),
        9 * math.exp(-10 / 9 * float(of.head[0].double().norm() * (of.features[0] - of.features.mean(0)).double().norm())),
    )
    for of in spread
]
first, last = pace(single, full, full + quarter), pace(single, steps - quarter, steps)
gained, since = single.last(NORM) - single.at(NORM, full), driven(single, full).iloc[-1]
falling = {run.label: (run, np.log2(run.last(MASS) / run.at(MASS, steps / 2))) for run in (single, exact)}
count = {run: evidence.counted(evidence.bursts(run)) for run in runs}
states = [theory.collapse_state(margin) for margin in range(20, 31)]
heads = [theory.drift(state, FLOAT32) for state in states]
pulls = [theory.feature_drift(theory.with_mean(state), FLOAT32) for state in states]
pairs = [coupled(seed) for seed in range(5)]
rate = theory.coupled_growth(1e5, 1e-7, 10)[0]
slopes = [powers(lambda t: 1e-5 / t), powers(lambda t: 1e-5 * math.log(t + 1) / t)]
error = [max(abs(x - 1) for x in of) for of in ([ratio for ratio, _ in heads], pulls)]
turned = f"{pairs[0][0]:.6f} a step, cosine {max(cosine for _, cosine in pairs):.6f}"
norms = {"W_G": NORM, "μ_G": "feature_mean_norm"}
found = {
    "inflation": (single, evidence.inflated(single)),
    "anti-parallel": (single, single.last(COSINE)),
    "exponential": (single, last / first),
    "rank-one": (single, single.last(ALIGNED)),
    "float64": (exact, evidence.inflated(exact)),
    "projection": (projected, evidence.inflated(projected)),
    "theorem-4": claims.exactly(
        f"largest error {error[0]:.0e}", [abs(x - 1) <= 1e-3 and cosine <= -0.999 for x, cosine in heads]
    ),
    "proposition-6": claims.exactly(f"largest error {error[1]:.0e}", [abs(x - 1) <= 1e-3 for x in pulls]),
    "eq-20": claims.exactly(
        ", ".join(f"{abs(e / m - 1):.1e}" for m, e in masses),
        [abs(e / m - 1) <= 2 * m for m, e in masses],
    ),
    "eq-12": (single, single.last(NORM) * single.last(FEATURE) * single.last(COSINE) / single.last(LOGIT)),
    "exponential-descent": (slow, quarters(np.log(slow.series(NORM)))),
    "descent": {
        "pace of W_G's part along -μ_G": (slow, quarters(-slow.series(NORM) * slow.series(COSINE))),
        "pace of |μ_G|": (slow, quarters(slow.series(FEATURE))),
    },
    "descent-size": {run.label: (run, run.last(NORM) / run.at(NORM, parted(run))) for run in (slow, still)},
    "theorem-7": claims.exactly(turned, [abs(g - rate) < 1e-9 and c < -1 + 1e-6 for g, c in pairs]),
    "decaying-mass": claims.exactly(
        "; ".join(f"{early:.2f} to {late:.2f}" for early, late in slopes),
        [late <= 1.01 * early for early, late in slopes],
    ),
    "spikes": {run.label: (run, count[run]) for run in runs},
    "full": (single, full),
    "norm": {n: (single, single.last(column) / single.at(column, full)) for n, column in norms.items()},
    "of-theorem": (single, gained / (since - single.at(NORM, full))),
    "logit": (single, single.last(LOGIT)),
    "falling": falling,
}
sheet = claims.read(page.name, found)
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
for run in runs:
    plots.curve(turn, run, COSINE)
    plots.curve(size, run, NORM, label="")
for run in runs[::-1]:
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
    for run in runs[1:]
)
tables.prose(f"""
Every training sample has a feature vector of its own, free to go anywhere, and a
{{term}}`head` without bias reads them. All numbers are medians over seeds with their range
(n = {len(single.seeds)} in float32).

* **Float32.** By step {sheet.told("full")} all samples have
  {{term}}`collapsed <softmax collapse>`. The {{term}}`mean classifier` $W_G$ has grown to
  {told(single.last(NORM), "{:.1f}")} by the end. It has turned against the
  {{term}}`mean feature` $\\mu_G$, with a cosine of {told(single.last(COSINE), "{:.4f}")}.
  The mean correct {{term}}`logit` ends at {told(single.last(LOGIT), "{:.0f}")}. It is
  negative for the right class, and still larger than the wrong ones.
* **The rest** end with a cosine and a norm of {others}.
* **Spikes of the loss** in {steps:,} steps: {"; ".join(f"{run.label} {told(count[run])}" for run in runs)}.
* **The growth is not exponential.** Per 1,000 steps, $\\ln |W_G|$ grows by
  {told(first, "{:.3f}")} in the first quarter after the
  collapse and by {told(last, "{:.3f}")} in the last.
  Meanwhile $\\mu_G$ becomes only
  {sheet.told("norm μ_G")}
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
for run in runs:
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
start = float(claims.median(full))
times = np.linspace(start, steps, 200)
grown = norm.loc[:start].iloc[-1] * np.exp(claims.median(first) * (times - start) / 1000)
growth.plot(times, grown, color=plots.BLACK, ls=":")
growth.set(xlabel="step", ylabel="norm of $W_G$", ylim=(0, 2.2 * norm.max()))
growth.text(steps, 1.06 * drawn.iloc[-1], "Theorem 4", color=plots.BLUE, ha="right", va="bottom")
growth.text(steps, 0.7 * norm.iloc[-1], "measured", color=single.color, ha="right", va="top")
growth.text(steps, 1.7 * norm.max(), "exponential", color=plots.BLACK, ha="right", va="top")
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
#| fold: "Code: the claims, and what was run"
sheet.closing(record, descents)

# %% [markdown]
# ## What was run
#
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
drift has the other sign, and in between it is a part of it. The rows are of ten classes, all
collapsed at a margin of 20. With 97, as in division, a collapse takes a margin of 20.5 and
more, and at 20 a step makes about half of that drift. The two means then turn
against each other, as Theorem 7 says. The features of single samples do not follow:
their mean cosine with $\\mu_G$ ends at {sheet.told("rank-one")}.

**The growth is another matter.** Gradients are tiny beside Adam's $\\varepsilon$ here, so
that Adam is nearly gradient descent with the rate $\\eta / \\varepsilon = 10^5$. Added up at
that rate, Theorem 4 predicts the growth of $W_G$: what is measured is
{sheet.told("of-theorem")} of it, see figure (c) above. But the loop
does not close. The other mean hardly moves, as its steps have the factor of note 4, so $W_G$ is driven at a pace that falls with
$\\epsilon$. In the second half $\\epsilon$ goes with $t$ to the power
{sheet.told("falling float32", "{:.1f}")}. The paper grants such a decay to ResNet-18 alone, see
[Figure 13](fig13_resnet.ipynb). Its sentence on it is half right: with
$\\epsilon \\propto 1/t$ growth is polynomial, with $\\log t / t$ it outgrows every power.

**Under gradient descent, in a network.** [Figure 9](fig09_cifar_mlp.ipynb) has the theorems' own optimizer: gradient
descent from a state that Adam reached. At rate 100 with a float32 loss, $W_G$ grows to {sheet.told("descent-size float32, rate 100", "{:.2f}")}
times its norm. With a float64 loss, at the tenfold rate, it stays: {sheet.told("descent-size float64 loss, rate 1,000", "{:.4f}")}. Its part
along $-\\mu_G$ is moved at constant speed, as Theorem 4 says: the last quarter has {sheet.told("descent pace of W_G's part along -μ_G")} of the
first. $|\\mu_G|$ grows faster and faster, {sheet.told("descent pace of |μ_G|", "{:.1f}")}-fold. The pace of $\\ln |W_G|$ in the last
quarter is {sheet.told("exponential-descent")} of that in the first, where growth along a line would give less than 1. So the exponential growth is
not seen under Adam with free features, and is not excluded under gradient descent. The growth is too small to
tell an exponential from another curve.

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
