# %% [markdown]
# # [Liu et al. 2026 · beyond the paper]{.kicker} Once float32 rounds the loss of every sample to zero, a step moves the mean classifier as Theorem 4 says

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the checks and the claims"
import math
from collections import namedtuple
from functools import partial, reduce
from itertools import product

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from claimbook import claims, plots
from grokbook import losses, metrics, theory

plots.use_style()
FLOAT32, FLOAT64 = torch.float32, torch.float64
State = namedtuple(
    "State", ["head", "features", "labels"]
)  # (classes, width), (rows, width), (rows,)


def collapse(margin, mean=0.0):
    """A neural collapse: features 10 e_k, one margin, and a W_G of length ``mean`` against μ_G."""
    labels, axes = torch.arange(10).repeat_interleave(20), torch.eye(64)
    head, features = (
        (margin / 10) * (axes[:10] - axes[:10].mean(dim=0)),
        10 * axes[labels],
    )
    centre = features.mean(dim=0)
    return State(head - mean * centre / centre.norm(), features, labels)


def slopes_of(state, dtype, loss=losses.softmax_cross_entropy):
    """Gradient of each sample's own loss at its logits, and the residual mass."""
    logits = state.features @ state.head.T
    slopes = torch.func.grad(partial(loss, dtype=dtype, reduction="sum"))(
        logits, state.labels
    )
    return slopes.double(), metrics.residual_mass(logits, state.labels)


def moved(state, dtype, **how):
    """A step of W_G: its part along μ_G in units of Theorem 4, and its cosine with μ_G."""
    slopes, residual = slopes_of(state, dtype, **how)
    gradient = slopes.T @ state.features.double() / len(slopes)
    step, mean = metrics.global_means(-gradient, state.features)
    return float(-(step @ mean) / (mean @ mean) * len(gradient) / residual), float(
        metrics.cosine(step, mean)
    )


def pulled(state, dtype):
    """Mean of <grad_h L, W_G> / (ε |W_G|²), L of one sample: 1 in Proposition 6."""
    slopes, residual = slopes_of(state, dtype)
    centre, gradient = metrics.global_means(state.head, slopes @ state.head.double())
    return float(gradient @ centre / (centre @ centre) / residual)


def coupled(seed, eta=1e5, eps=1e-7, classes=10):
    """Growth a step and cosine after 8,000 steps of the two updates from any start."""
    torch.manual_seed(seed)
    head, mean = torch.randn(2, 16, dtype=FLOAT64)
    for _ in range(8000):
        before = head.norm()
        head, mean = head - eta * eps / classes * mean, mean - eta * eps * head
    return float(head.norm() / before), float(metrics.cosine(head, mean))


def grown(mass, eta=1e5, classes=10):
    """ln of the growth of W_G by Theorem 7 up to each of 20,000 steps, if ε is ``mass`` of the step."""
    return np.cumsum(
        [
            math.log(theory.coupled_growth(eta, mass(t), classes)[0])
            for t in range(1, 20_001)
        ]
    )


def grows(eta, epsilon, classes):
    """Whether the largest eigenvalue of the coupled step is that of the theorem."""
    step = torch.tensor([[1, -eta * epsilon / classes], [-eta * epsilon, 1]]).double()
    return math.isclose(
        torch.linalg.eigvals(step).real.max(),
        theory.coupled_growth(eta, epsilon, classes)[0],
    )


def remaining(margin):
    """The residual mass of a neural collapse over that of eq. 20, minus 1; and the mass."""
    of = collapse(margin)
    mass = float(
        metrics.residual_mass(of.features.double() @ of.head.double().T, of.labels)
    )
    apart = float(
        of.head[0].double().norm()
        * (of.features[0] - of.features.mean(0)).double().norm()
    )
    return abs(9 * math.exp(-10 / 9 * apart) / mass - 1), mass


states = [collapse(margin) for margin in range(20, 31)]
heads = [moved(state, FLOAT32) for state in states]
pulls = [pulled(collapse(margin, mean=0.3), FLOAT32) for margin in range(20, 31)]
error = [max(abs(x - 1) for x in of) for of in ([ratio for ratio, _ in heads], pulls)]
pairs, masses = (
    [coupled(seed) for seed in range(5)],
    [remaining(margin) for margin in (5, 10, 20, 30)],
)
rate = theory.coupled_growth(1e5, 1e-7, 10)[0]
rates = [(1e5, 1e-7, 10), (1e-3, 1e-7, 10), (1e5, 1e-6, 97), (1.0, 1e-2, 10)]
turned = f"{pairs[0][0]:.6f} a step, cosine {max(cosine for _, cosine in pairs):.6f}"
growth = {
    "1 / t": grown(lambda t: 1e-5 / t),
    "log t / t": grown(lambda t: 1e-5 * math.log(t + 1) / t),
}
slopes = {
    name: np.diff(of[[199, 1999, 19_999]]) / math.log(10) for name, of in growth.items()
}
powers = "; ".join(f"{early:.2f} to {late:.2f}" for early, late in slopes.values())
found = {
    "theorem-4": claims.exactly(
        f"largest error {error[0]:.0e}",
        [abs(x - 1) <= 1e-3 and c <= -0.999 for x, c in heads],
    ),
    "proposition-6": claims.exactly(
        f"largest error {error[1]:.0e}", [abs(x - 1) <= 1e-3 for x in pulls]
    ),
    "theorem-7": claims.exactly(
        turned, [abs(g - rate) < 1e-9 and c < -1 + 1e-6 for g, c in pairs]
    ),
    "eigenvalue": claims.exactly("equal", [grows(*rate) for rate in rates]),
    "eq-20": claims.exactly(
        ", ".join(f"{off:.1e}" for off, _ in masses),
        [off <= 2 * mass for off, mass in masses],
    ),
    "decaying-mass": claims.exactly(
        powers, [late <= 1.01 * early for early, late in slopes.values()]
    ),
}
sheet = claims.read("liu2026/theorems", found)
exact = abs(moved(states[-1], FLOAT64)[0])
sheet.box(
    "The last layer has one row of weights for each class; the mean of these rows is called the "
    "mean classifier. In exact arithmetic a step of gradient descent cannot move it. The paper "
    "says that it does move once float32 rounds the loss of every sample to zero (a collapse): "
    "a step then moves it against the direction of the mean of the last layer's inputs, by a "
    "distance that its Theorem 4 gives.\n\nWe checked this without training, on a made-up last layer of ten "
    "classes and made-up inputs. "
    "The margin of a sample is the lead of its correct class over the others. "
    f"At {len(heads)} margins from 20 to 30, a step with the loss in float32 is "
    f"{heads[-1][0]:.2f} times as long as the theorem says (largest error {error[0]:.0e}). So "
    f"it holds there. With the loss in float64 a step is {exact:.2f} times as long: the mean "
    "classifier stays.\n\nBelow a margin of 19 not all samples have collapsed in float32, and the "
    "theorem does not apply."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-theorems
#| caption: >
#|   Once all samples have collapsed, a step with the loss in float32 moves the mean
#|   classifier as far as Theorem 4 says; with the loss in float64 it does not move. The
#|   height is one step divided by the step of the theorem: at 1 the two are equal, at 0 nothing
#|   moves, and below 0 the step goes the other way. All samples have the same margin, and each
#|   margin is another made-up last layer. Dots are the margins that the claim is judged at. From
#|   the dashed line on (24 ln 2 = 16.6) some samples have collapsed, and from 19 on all have.
#| alt: >
#|   The movement is near zero below a margin of 15, negative before 16.6, and one from
#|   about 19 to 30, where eleven dots lie on the line; in float64 it is zero everywhere.
#| fold: "Code: draw the movement"


def in_turn(logits, labels, *, dtype, **_):
    """Softmax cross-entropy whose sums do not depend on how wide a processor adds."""
    leads = (logits - logits.detach().amax(dim=1, keepdim=True)).to(dtype)
    total = reduce(torch.add, leads.exp().unbind(dim=1))
    return (total.log() - leads.gather(1, labels[:, None]).squeeze(1)).sum()


figure, (share,) = plots.panels(1, height=3.4)
margins = np.arange(12, 30.01, 0.25)
for dtype, name in ((FLOAT32, "float32"), (FLOAT64, "float64")):
    ratios = [moved(collapse(margin), dtype, loss=in_turn)[0] for margin in margins]
    end = f"{name}, {abs(ratios[-1]):.2f}"
    share.plot(margins, ratios, color=plots.COLOUR[name], label=end)
judged = [ratio for ratio, _ in heads]
ink = plots.COLOUR["float32"]
share.plot(range(20, 31), judged, "o", color=ink, ms=5, label="_judged")
words = f"{len(heads)} margins,\nlargest error\n{error[0]:.0e}"
share.text(30, 0.6, words, color=ink, ha="right")
share.axvline(24 * math.log(2), color=plots.GREY, ls="--", lw=1)
share.text(19.1, 0.45, "from 19 on: all collapsed", color=plots.GREY)
share.text(16.9, -0.3, "from 16.6 on: some collapsed", color=plots.GREY)
share.set(xlabel="margin of all samples", ylabel="step / step by Theorem 4")
plots.end_labels(share)
plots.show(figure)

# %% [markdown]
# ## What to see
#
# * **In float32 a step moves the {term}`mean classifier`** as far as the theorem says, once all samples have a
#   {term}`margin` of about 19. With the loss in float64 it does not move at all.
# * **Near $24 \ln 2 = 16.6$ the movement is only partly there.** Just below this margin it even has the other sign.

# %% [markdown]
# ## The idea
#
# The gradient of its own logit, times the feature, moves each row of the {term}`head`. If these
# gradients add up to zero over classes, the mean row stays. A {term}`collapsed <softmax collapse>` sample
# has lost one of them, and the others add up to its residual mass $\epsilon$ (Theorem 4). In turn
# the features are pushed along the mean row (Proposition 6):
#
# $$
# W_G \leftarrow W_G - \frac{\eta \epsilon}{K}\, \mu_G , \qquad
# \mu_G \leftarrow \mu_G - \eta \epsilon\, W_G .
# $$
#
# Each update feeds the other. The mean classifier $W_G$ and the {term}`mean feature` $\mu_G$ both grow by
# $1 + \eta \epsilon / \sqrt K$ a step, in opposite directions (Theorem 7). This is
# {term}`inflation`. Ten lines measure the first update on a given head and given features:


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


for dtype, margin in product((FLOAT32, FLOAT64), (14, 15.5, 16.7, 18, 20, 25)):
    state = collapse(margin)
    torch.testing.assert_close(
        drift(state, dtype), moved(state, dtype)[0], atol=1e-4, rtol=1e-3
    )
state = collapse(20)
print(f"float32 {drift(state, FLOAT32):.3f}, float64 {abs(drift(state, FLOAT64)):.3f}")

# %% [markdown]
# One is Theorem 4, zero the exact value.

# %% tags=["hide-input"]
#| name: fig-liu2026-theorems-growth
#| caption: >
#|   How fast the means grow depends on the residual mass. Growth of the mean classifier by
#|   Theorem 7, if the residual mass is constant (1e-7), falls as log t / t, or falls as 1 / t.
#| alt: >
#|   On logarithmic axes the constant mass makes a curve that shoots up, 1 / t a straight line, and
#|   log t / t a curve that slowly becomes steeper.
#| fold: "Code: draw the growth"
figure, (curves,) = plots.panels(1, height=3.0)
drawn = growth | {"constant": grown(lambda _: 1e-7)}
for (name, of), ls in zip(drawn.items(), ("-", "--", ":"), strict=True):
    curves.plot(
        range(1, 20_001), np.exp(of), color=plots.BLACK, ls=ls, label=f"mass {name}"
    )
curves.set(
    xscale="log",
    yscale="log",
    xlabel="step t",
    ylabel="growth of the mean",
    xlim=(1, 2e4),
    ylim=(1, 1e8),
)
curves.legend(loc="upper left")
plots.show(figure)

# %% [markdown]
# A constant mass gives exponential growth, and a mass that falls as $1/t$ gives a power of $t$. Between the two,
# a mass of $\log t / t$ outgrows every power, which the paper excludes.
#
# ## The claims
#
# Each row checks a formula of the paper on given numbers, without training. The rows have ten
# classes, and the row of eigenvalues 97 as well.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing()

# %% [markdown]
# ## What was run
#
# 1. *States.* Twenty samples of each of ten classes, as Theorem 4 asks for balanced classes. All features
#    of a class are equal, all margins too.
# 2. *More classes.* With 97, as in division, a collapse needs a margin of 20.5 and more. At 20 a step
#    then makes about half of the drift.
# 3. *Reduction.* Theorem 7 joins the gradient of a mean over the batch with that of one
#    sample. With a mean over $B$ free samples in both, the pace is $\eta\epsilon / \sqrt{KB}$.

# %% [markdown]
# ## Reading the result
#
# **The theorems hold where their assumptions do.** Once all samples have collapsed, one step is as Theorem 4 and
# Proposition 6 say, to the last digits of float32. With a constant residual mass, the two means turn against
# each other and grow as Theorem 7 says.
#
# **The sentence on a falling mass is half right.** The paper calls the growth polynomial or logarithmic if
# $\epsilon$ falls as $1/t$ or $\log t / t$. The first is polynomial. The second grows as $e^{c \log^2 t}$.
#
# **Training is another question.** These checks say what one step does, given the mass. [Free features](inflation.ipynb)
# show how the mass falls in training, and that the growth is then not exponential.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-theorems-steps
# By Theorem 7, how many steps does a factor of $e$ take with $\epsilon = 10^{-7}$ and ten
# classes, at the learning rate 0.001, and at Adam's largest step of $10^5$?
# ```
#
# ````{solution} ex-liu2026-theorems-steps
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
# Thirty thousand million steps, and 317. The theorem can matter only through Adam, which divides
# by its $\varepsilon$ once the gradients are tiny.
# ````
#
# ```{exercise}
# :label: ex-liu2026-theorems-sign
# At a margin of 15.5, before any sample has collapsed, the drift of figure (a) is negative.
# Which way does the rounding of the correct class's probability go there?
# ```
#
# ````{solution} ex-liu2026-theorems-sign
# :class: dropdown
# The probability is rounded to a multiple of $2^{-24}$ below 1. Whether the missing part
# becomes too large or too small depends on the margin:
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
# :label: ex-liu2026-theorems-classes
# How much slower do the means grow with 1,000 classes than with ten, at the same residual mass?
# And how does the mass itself depend on the number of classes, at the same margin?
# ```
#
# ````{solution} ex-liu2026-theorems-classes
# :class: dropdown
# The pace falls as $1 / \sqrt K$, and the mass grows as $K - 1$:
#
# ```python
# import math
# for K in (10, 1000):
#     mass = (K - 1) / (K - 1 + math.exp(20))
#     print(f"K = {K}: pace {1 / math.sqrt(K):.3f} ηε, mass at a margin of 20 {mass:.1e}")
# ```
#
# A tenth of the pace, but a hundred times the mass: at one margin, more classes inflate faster.
# ````

# %% [markdown]
# ## Run it yourself
#
# Nothing is trained here; the page takes some seconds.
#
# ```bash
# make page PAGE=liu2026/theorems
# ```
