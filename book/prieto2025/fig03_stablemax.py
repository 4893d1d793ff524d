# %% [markdown]
# # [Prieto et al. 2025 · Figure 3]{.kicker} StableMax keeps small terms that softmax rounds away

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the functions and the claims"
import math

import torch
from torch.nn.functional import softplus

from claimbook import claims, plots, tables
from grokbook import losses

plots.use_style()
TYPES = {"float16": torch.float16, "float32": torch.float32, "float64": torch.float64}
transform = losses.stablemax_transform


def forgets(lost, dtype):
    """The gap from which a sum loses its smaller term, by bisection."""
    low, high = 1.0, 1e10
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        c = torch.tensor(middle / 2, dtype=dtype)  # the two logits are c and -c
        low, high = (low, middle) if lost(c) else (middle, high)
    return high


def softmax_loses(c):
    return 1 + torch.exp(-2 * c) == 1


def stablemax_loses(c):
    return transform(c) + transform(-c) == transform(c)


softmax = {name: forgets(softmax_loses, dtype) for name, dtype in TYPES.items()}
stable = {name: forgets(stablemax_loses, dtype) for name, dtype in TYPES.items()}

negative = torch.linspace(-30, 0, 3001, dtype=torch.float64)


def kept(function):
    """What is left of a term, as a share, when its logit has fallen by ln 10."""
    return function(negative - math.log(10)) / function(negative)


def between(values, show):
    ends = (show.format(float(end)) for end in (values.min(), values.max()))
    return " to ".join(ends).replace("%", " %")


def slower(function, name):
    """What is left of s(x) and of another function, in words; where s has more."""
    ours, theirs = kept(transform), kept(function)
    told = f"s(x): {between(ours, '{:.0%}')}, {name}: {between(theirs, '{:.0%}')}"
    return claims.exactly(told, ours > theirs)


def gone(name):
    """Whether loss and gradient of a correct logit are exactly 0 at collapsed leads."""
    leads = softmax[name] * torch.linspace(1.01, 2, 100, dtype=torch.float64)
    z = torch.stack([leads, 0 * leads], dim=1).requires_grad_()
    right = torch.zeros(len(z), dtype=torch.long)
    loss = losses.softmax_cross_entropy(z, right, dtype=TYPES[name])
    loss.backward()
    return loss.item() == 0 and not z.grad[:, 0].any()


def unmoved(dtype):
    """Whether 1 stays 1 when three quarters of the last place are added to it."""
    return bool(1 + torch.tensor(0.75 * torch.finfo(dtype).eps, dtype=dtype) == 1)


large = torch.logspace(1, 10, 901, dtype=torch.float64)
doubled = transform(2 * large) / transform(large)
sizes = torch.logspace(-2, 6, 801, dtype=torch.float64)[:, None]
rows = sizes * torch.randn(801, 113, generator=torch.Generator().manual_seed(42))
squashed = (rows.sign() * rows.abs().log1p()).softmax(dim=-1)
error = (losses.stablemax(rows) / squashed - 1).abs().amax(dim=-1)

gaps = [f"{n}: {stable[n]:,.0f} against {softmax[n]:.1f}" for n in TYPES]
found = {
    "wider": claims.exactly("; ".join(gaps), [stable[n] > softmax[n] for n in TYPES]),
    "linear": claims.exactly(
        between(doubled, "{:.2f}"), (doubled >= 1.9) & (doubled <= 2)
    ),
    "slower-than-exp": slower(torch.exp, "e^x"),
    "slower-than-softplus": slower(softplus, "Softplus"),
    "proposition": claims.exactly(
        f"largest error {float(error.max()):.0e}", error <= 1e-12
    ),
    "gone": claims.exactly("at all leads", map(gone, TYPES)),
    "epsilon": claims.exactly(
        "1 changes from half of 2^-(p-1) on", map(unmoved, TYPES.values())
    ),
}
sheet = claims.read("prieto2025/fig03", found)
sheet.box(
    "A network's outputs, the logits, become shares: each has a term, which is divided by the sum of all terms. In softmax "
    "the terms are exponentials. When one logit leads by too much, rounding leaves its term alone in the sum, and the "
    "others are lost.\n\nThe paper calls StableMax, a replacement for softmax whose terms grow along a line, numerically more "
    "stable. It is: in float32 a sum of two terms loses the smaller one once its logit is "
    f"{softmax['float32']:.1f} behind with softmax, and {stable['float32']:,.0f} behind with StableMax. This is StableMax's "
    "worst case, in which zero lies half-way between the two logits. StableMax lasts "
    "longer in float16 and float64 too, so the sentence holds. No network was trained for this page."
)

# %% tags=["hide-input"]
#| name: fig-prieto2025-03
#| caption: >
#|   StableMax loses its small terms far later than softmax. (a) The term that one
#|   logit adds to the sum, over the range that the paper draws. Softplus, another
#|   function that ends as a line, is there for comparison. (b) The smaller of two
#|   terms divided by the larger one, against the lead of one logit over the other, with
#|   zero half-way between them, where StableMax loses the smaller term earliest. The
#|   level lines are about the smallest numbers that each float type can add to 1. A
#|   dot marks the lead from which on the sum is the larger term alone. The two numbers
#|   are those leads in float32.
#| alt: >
#|   Left: e^x and s(x) touch at 0 with equal slope. To the right of 0 s is a straight
#|   line, to the left it lies above e^x. Right: on logarithmic axes the softmax term falls off a
#|   cliff at gaps between 8 and 37, through the levels of all three float types. The
#|   StableMax term falls along a line that meets them between 100 and 300 million.
#| fold: "Code: draw the figure"
figure, (near, far) = plots.panels(2, height=3.6)
orange, green = plots.COLOUR["softmax"], plots.COLOUR["StableMax"]
x = torch.linspace(-4, 4, 801, dtype=torch.float64)
near.plot(x, x.exp(), color=orange, ls=plots.DASHED, label=r"softmax: $e^x$")
near.plot(x, transform(x), color=green, label="StableMax: $s(x)$")
near.plot(x, softplus(x), color=plots.GREY, ls=":", label="Softplus")
near.set(ylim=(-0.1, 6), xlabel="logit $x$", ylabel="term in the sum")
gap = torch.logspace(-2, 9.5, 801, dtype=torch.float64)


def smaller(gap):
    """The smaller over the larger of two terms, under StableMax."""
    return transform(-gap / 2) / transform(gap / 2)


far.plot(gap, (-gap).exp(), color=orange, ls=plots.DASHED)
far.plot(gap, smaller(gap), color=green)
for name, dtype in TYPES.items():
    level, color = torch.finfo(dtype).eps / 2, plots.COLOUR[name]
    far.axhline(level, color=color, ls="--", lw=1)
    far.text(0.013, level * 1.8, name, color=color)
    far.plot(softmax[name], math.exp(-softmax[name]), "o", color=orange)
    at = torch.tensor(stable[name], dtype=torch.float64)
    far.plot(at, smaller(at), "o", color=green)
pairs = ((softmax, "{:.1f}", orange), (stable, "{:,.0f}", green))
for lost, show, color in pairs:
    far.text(lost["float32"] * 1.5, 1e-7, show.format(lost["float32"]), color=color)
far.text(70, 1e-18, "softmax", color=orange)
far.text(8, 0.2, "StableMax", color=green)
far.set(xscale="log", yscale="log", xlim=(3e-3, 8e9), ylim=(1e-19, 3))
far.set(xlabel="lead of one logit over the other", ylabel="smaller term / larger term")
figure.legend(loc="outside upper center", ncols=3)
plots.letter([near, far], ["the term of one logit", "the smaller of two terms"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
four = torch.tensor([-4.0, 4.0], dtype=torch.float64)
tables.prose(f"""
* **To the right of 0** (a) the two functions part quickly. At a {{term}}`logit` of 4 the
  {{term}}`softmax` term is {float(four[1].exp()):.1f}, the {{term}}`StableMax` term {float(transform(four)[1]):.0f}.
* **To the left** StableMax is the larger one: at -4 it keeps {float(transform(four)[0]):.1f} and softmax
  {float(four[0].exp()):.3f}. Softplus, which is linear to the right as well, falls as fast as softmax here.
* **Rounding** (b) swallows the smaller of two softmax terms from a lead ({{term}}`gap`) of {softmax["float32"]:.1f} on in
  float32, and of {softmax["float64"]:.1f} in float64. Twice the digits buy twice the lead.
* **With StableMax** the same happens at {stable["float32"]:,.0f} in float32 and at
  {stable["float64"] / 1e6:,.0f} million in float64. Twice the digits buy the square.
""")

# %% [markdown]
# ## The idea
#
# Softmax divides $e^{z_i}$ by the sum of all exponentials. A sum in floating point loses what is
# too small beside its largest term ({term}`absorption`), and exponentials are soon too
# small. StableMax keeps the quotient and replaces the exponential:
#
# $$
# s(x) = \begin{cases} x + 1 & x \ge 0 \\ \dfrac{1}{1 - x} & x < 0 \end{cases}
# \qquad
# \operatorname{StableMax}(z)_i = \frac{s(z_i)}{\sum_j s(z_j)} .
# $$


# %%
def s(x):
    """What stands in the place of exp(x): positive, rising, smooth at 0."""
    return torch.where(x >= 0, x + 1, 1 / (1 - x))


z = torch.tensor([[30.0, 3.0, -4.0]])
stablemax = s(z) / s(z).sum(dim=-1, keepdim=True)
torch.testing.assert_close(stablemax, losses.stablemax(z, dtype=torch.float32))
[[f"{share:.0e}" for share in row[0]] for row in (stablemax, z.softmax(dim=-1))]

# %% [markdown]
# The first row is StableMax, the second softmax. Softmax gives its leading class exactly 1 in
# float32. StableMax leaves the other classes their share.
#
# Proposition 1 of the paper says that StableMax is a softmax after all, of logits squashed
# by $g(x) = \operatorname{sign}(x) \log(1 + |x|)$. This turns a gap of 8,190 into one of 16.6. So
# logits can grow for long before the sum forgets the wrong classes. Only then does the
# gradient of the right class vanish ({term}`softmax collapse`).
#
# ```{include} ../explorables/absorption.md
# ```
#
# ## The claims
#
# These rows check arithmetic. With the right formulas they could hardly fail, and one does. They test
# that the paper describes its function and its floats correctly, and that the package computes
# them. Nothing is trained, so there are no seeds. *n* counts the float
# types, grid points or rows at which a statement was computed. The last two rows are sentences
# of Section 3.1.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing()

# %% [markdown]
# ## What was run
#
# The functions of the package, in float64 unless a row names another type. Four remarks on
# the paper and its code, commit `0cc9e8d` of the
# [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability).
#
# 1. *Shifted curves.* In `paper_plots.ipynb` both curves are computed on [-4, 5] and drawn
#    over [-4, 4]. So at the drawn $x = 0$ they show $s(0.5) = 1.5$ and $e^{0.5} = 1.65$.
#    Ours are drawn at the right places.
# 2. *Panel (b)* is ours; the paper has the range of (a) alone, without Softplus.
# 3. *Two logits.* Panel (b) puts them on either side of 0, where StableMax loses the smaller
#    term earliest. If both are positive, it lasts longer (see the second exercise).
# 4. *The proof of Proposition 1* carries one branch of $g$ through the whole denominator of
#    its Equation 15. With logits of both signs the sum has terms of both branches. The
#    proposition is not touched.
#
# ## Reading the result
#
# The paper describes $s$ correctly, and the proposition holds to rounding. The loss of a collapsed
# sample and the gradient of its correct class are exactly zero. Three points are easily overread.
#
# **One sentence on floats is off by a factor of two.** Section 3.1 says that 1 stays unchanged
# when any number smaller than its machine epsilon $2^{-(p-1)}$ is added. A sum is rounded to the
# nearest float, so the sentence holds up to half of it, $2^{-p}$. The factor moves a collapse by a lead of
# $\ln 2$, and changes no argument of the paper.
#
# **More stable is not stable.** StableMax sums absorb as well, at larger logits, and training
# reaches them: see the end of the runs of [Figure 4](fig04_stablemax_grokking.ipynb).
#
# **StableMax is another loss, not softmax in better arithmetic.** As logits grow, softmax
# cross-entropy falls exponentially. StableMax cross-entropy falls as one over their square.
# Whether rounding or this shape lets networks grok is the question of
# [Figure 1](fig01_headline.ipynb). Its {term}`collapse-free cross-entropy` changes the
# rounding alone.
#
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-03-shift
# Add 5 to all logits of one row. How much do softmax and StableMax change?
# ```
#
# ````{solution} ex-prieto2025-03-shift
# :class: dropdown
# Softmax does not change, StableMax does:
#
# ```python
# import torch
# from grokbook import losses
# z = torch.tensor([[0.0, 1.0], [5.0, 6.0]])
# print(z.softmax(dim=-1), losses.stablemax(z))
# ```
#
# Logits (0, 1) give (1/3, 2/3), and (5, 6) give (6/13, 7/13). So the network can change
# its loss by a common shift of all logits. Nor may one subtract the largest of them for
# safety, as softmax code does.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-03-gap
# The two logits are 0 and $\Delta$, not $-\Delta/2$ and $\Delta/2$. From which $\Delta$ on
# does a float32 sum forget the smaller term, under softmax and under StableMax?
# ```
#
# ```{solution} ex-prieto2025-03-gap
# :class: dropdown
# Under softmax nothing changes: $24 \ln 2 \approx 16.6$. Under StableMax the terms are 1 and
# $1 + \Delta$, so $1 + \Delta$ must reach $2^{24}$. That is a gap of 17 million, two thousand
# times the one of panel (b).
# ```
#
# ```{exercise}
# :label: ex-prieto2025-03-branch
# The official code writes $s$ with `torch.where` and adds $10^{-30}$ to the denominator of
# the negative branch. What is its derivative at a logit of exactly 1, in float32 and in
# float64?
# ```
#
# ````{solution} ex-prieto2025-03-branch
# :class: dropdown
# Not a number in float32. The branch that is not used is computed too: its slope
# $(10^{-30})^{-2}$ overflows, and autograd multiplies it by 0.
#
# ```python
# import torch
# for dtype in (torch.float32, torch.float64):
#     x = torch.tensor([0.9, 1.0, 1.1], dtype=dtype, requires_grad=True)
#     torch.where(x < 0, 1 / (1 - x + 1e-30), x + 1).sum().backward()
#     print(dtype, x.grad)
# ```
#
# In float64, in which the official code computes this loss, $10^{60}$ is a number and the
# slope is 1. The package writes both branches as one quotient instead, with the derivative
# $\min(s, 1)^2$.
# ````
#
# ## Run it yourself
#
# Less than a minute. There is nothing to reduce, whatever the scale.
#
# ```bash
# make page PAGE=prieto2025/fig03 SCALE=laptop
# ```
#
# There is no record behind this page: every number is computed when it is executed.
