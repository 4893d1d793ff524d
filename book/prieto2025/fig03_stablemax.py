# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 3: StableMax grows linearly where softmax grows exponentially (reproduced)
#
# **Claim.** Replacing $e^x$ in the softmax by a function that rises only linearly for
# positive logits, and falls like $1/(1-x)$ for negative ones, removes the overflow of
# scale that makes floating-point sums absorb their small terms {cite:p}`prieto2025`.
# **Here.** The function is evaluated, not trained: its stated properties on a grid of
# 80,001 points, Proposition 1 on 800 random rows of logits. **What came out.** All of it
# holds; the curve in the released notebook, though, is drawn up to a unit off.

# %% [markdown]
# ## The idea in code
#
# $$
# s(x) = \begin{cases} x + 1 & x \ge 0 \\ \dfrac{1}{1 - x} & x < 0 \end{cases}
# \qquad
# \operatorname{StableMax}(x)_i = \frac{s(x_i)}{\sum_j s(x_j)}
# $$
#
# Proposition 1 of the paper says that this *is* a softmax, of squashed logits
# $g(x) = \operatorname{sign}(x)\,\log(1 + |x|)$. So the terms of two logits $0$ and
# $\Delta > 0$ have the ratio $1 + \Delta$ instead of $e^\Delta$, and the sum in the
# denominator does not swallow its smaller terms ({term}`absorption`) at any gap that
# training usually reaches.

# %% tags=["parameters"]
points = 40_000  # on either side of zero
widest = 4.0

# %% tags=["hide-input"]
import inspect

import numpy as np
import torch

from grokbook import claims, losses, plots

plots.use_style()
print(inspect.getsource(losses.StableMaxTransform))

# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "The two link functions over the paper's range, and the same on a logarithmic axis over a wider one: at a logit of 17, where a float32 sum begins to absorb, $e^x$ has reached 2.4e7 and $s(x)$ has reached 18.", "name": "fig-prieto2025-03"}, "image": {"alt": "Left: e^x and s(x) from -4 to 4; they touch at 0 with equal slope, s lies above for negative x and far below for positive x. Right: on a logarithmic axis e^x is a straight line from 4e-8 to 2e7 while s bends and stays between 0.06 and 18."}}
figure, (near, far) = plots.panels(2, height=3.2)
x = np.linspace(-widest, widest, 801)
near.plot(x, np.exp(x), color=plots.ORANGE, ls="--", label=r"softmax: $e^x$")
near.plot(
    x,
    losses.stablemax_transform(torch.from_numpy(x)),
    color=plots.BLUE,
    label=r"StableMax: $s(x)$",
)
near.set(ylim=(-0.1, 6), xlabel="logit $x$", ylabel="unnormalised probability")
near.legend()
x = np.linspace(-17, 17, 801)
far.semilogy(x, np.exp(x), color=plots.ORANGE, ls="--")
far.semilogy(x, losses.stablemax_transform(torch.from_numpy(x)), color=plots.BLUE)
far.set(xlabel="logit $x$", ylabel="unnormalised probability")
plots.letter([near, far], ["the paper's range", "to where float32 absorbs"])
figure.show()

# %% [markdown]
# ## Check
#
# Each line evaluates one statement at every point of a grid, in float64.

# %%
x = torch.arange(-points, points + 1, dtype=torch.float64) * widest / points
s, exponential = losses.stablemax_transform(x), x.exp()
below, above = x < 0, x >= 0
beside = torch.tensor([-1e-9, 1e-9], dtype=torch.float64, requires_grad=True)
values = losses.stablemax_transform(beside)
(slopes,) = torch.autograd.grad(values.sum(), beside)
slopes = torch.cat([slopes, ((values - s[points]) / beside).detach()])
rounding = 1 + 1e-15

logits = torch.randn(800, 113, generator=torch.Generator().manual_seed(42))
logits = 20 * logits.double()
ours = losses.stablemax(logits, dtype=torch.float64)
theirs = losses.stablemax_log_transform(logits).softmax(-1)
difference = ((ours - theirs).abs() / theirs).max()
agree = ((ours - theirs).abs() <= 1e-12 * theirs).all(-1).sum()

# %% tags=["hide-input", "nbval-check-output"]
claims.table(
    [
        claims.exact(
            "s(0) = 1",
            "1",
            f"{float(s[points]):g}",
            held=int(s[points] == 1),
            n=1,
            source="4.3",
        ),
        claims.exact(
            "s is smooth at 0: its slope is 1 from both sides, by the derivative that "
            "training uses and by differences of s",
            "1",
            ", ".join(f"{float(slope):.3f}" for slope in slopes),
            held=int(((slopes - 1).abs() < 1e-6).sum()),
            n=4,
            source="4.3",
        ),
        claims.exact(
            "s(x) does not exceed e^x for x ≥ 0",
            "holds",
            f"largest ratio {float((s / exponential)[above].max()):.3f}",
            held=int((s <= exponential * rounding)[above].sum()),
            n=int(above.sum()),
            source="4.3",
        ),
        claims.exact(
            "s(x) is not below e^x for x < 0",
            "holds",
            f"smallest ratio {float((s / exponential)[below].min()):.3f}",
            held=int((s * rounding >= exponential)[below].sum()),
            n=int(below.sum()),
            source="4.3",
        ),
        claims.exact(
            "Proposition 1: StableMax(x) = softmax(g(x)), to 1e-12",
            "equal",
            "largest relative difference below 1e-12"
            if difference < 1e-12
            else f"differs by {float(difference):.1e}",
            held=int(agree),
            n=len(logits),
            source="4.3",
        ),
    ],
    page="prieto2025/fig03",
)

# %% [markdown]
# ## Reading the result
#
# Nothing here can fail on other hardware, and nothing did. Three remarks all the same:
#
# 1. In the notebook released with the paper the curves are evaluated on $[-4, 5]$ but
#    drawn against $[-4, 4]$, so at the drawn $x = 0$ they show $s(0.5) = 1.5$ and
#    $e^{0.5} = 1.65$. Above they stand where they belong.
# 2. StableMax is *not* invariant to adding a constant to all logits; subtracting the
#    maximum, as every softmax does for safety, would change its value.
# 3. A two-branch formula evaluates the branch it does not use as well. At a logit of
#    exactly 1 the unused $1/(1-x)$ is infinite and its gradient is NaN in float32, even
#    with the small constant that the official code adds. The code above writes both
#    branches as one quotient, and the derivative as $\min(s, 1)^2$.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-03-shift
# Add 5 to all logits of one row. How much do softmax and StableMax change?
# ```
#
# ```{solution} ex-prieto2025-03-shift
# :class: dropdown
# Softmax does not change beyond rounding. StableMax does: for logits (0, 1) it gives
# (1/3, 2/3), for (5, 6) it gives (6/13, 7/13). A constant added to positive logits makes
# it less certain, so the network can lower its loss by moving the mean logit, which
# softmax would not notice.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-03-gap
# Which gap between two logits makes the smaller one vanish from a float32 sum under
# softmax, and which under StableMax?
# ```
#
# ```{solution} ex-prieto2025-03-gap
# :class: dropdown
# Under softmax $24 \ln 2 \approx 16.6$. Under StableMax the ratio of the two terms must
# reach $2^{24}$, for example logits of 0 and $1.7 \cdot 10^7$: a million times more.
# ```

# %% [markdown]
# ## Provenance
#
# No record: every number above is computed when the page is executed.
# `grokbook execute prieto2025/fig03` makes the page again in seconds.
