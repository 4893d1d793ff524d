# %% [markdown]
# # [Prieto et al. 2025 · Figure 12]{.kicker} In an MLP that groks without weight decay, ten Fourier components hold more than half of the output layer

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the weights and the claims"
import torch
from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import metrics
from grokbook.metrics import participation_ratio as effective

plots.use_style()
page = evidence.Page("prieto2025/fig12", scale, retrain, device)
grokked = page.record("fig04left", arms=("addition", "product"))
fitted = page.record("fig01c", arms=("softmax float64",))
addition, product = (
    Run(grokked, name, name, plots.COLOUR[name]) for name in ("addition", "product")
)
softmax = Run(fitted, "softmax float64", "softmax", plots.COLOUR["softmax"])
exact = Run(fitted, "exact CE float64", "collapse-free", plots.COLOUR["collapse-free"])
p = addition.settings.dataset.options["p"]
# The nonzero classes as 1, g, g^2, ... for the smallest primitive root g.
powers = ([pow(g, m, p) for m in range(p - 1)] for g in range(2, p))
logs, by_logs = (
    next(one for one in powers if len(set(one)) == p - 1),
    "order of logarithms",
)


def weights(run, place="output", *, epoch=None, order=slice(None)):
    """Output layer, or the part of the first layer that reads a, (p, 200), by seed."""
    epoch = run.settings.epochs if epoch is None else epoch
    found = {s: [*run.record.weights(run.arm, s, epoch).values()] for s in run.seeds}
    return {
        s: one[-1][order] if place == "output" else one[0].T[:p]
        for s, one in found.items()
    }


def spectra(*what, **how):
    """Norms of the Fourier components of a layer by seed."""
    return {
        seed: metrics.fourier_spectrum(one)
        for seed, one in weights(*what, **how).items()
    }


def over(by_seed, measure):
    return Series({seed: float(measure(one)) for seed, one in by_seed.items()})


def top(spectrum, many=10):
    """Share of the squared norm in the largest components, so many in 113."""
    return metrics.top_share(spectrum, k=round(many / 113 * len(spectrum)))


def waves(spectrum):
    """Norms of the cosines and of the sines, by frequency: (2, (p - 1) / 2)."""
    return torch.stack([spectrum[1::2], spectrum[2::2]])


def balanced(spectrum):
    """Of the five strongest frequencies, those with both norms within a factor of 2."""
    both = waves(spectrum)
    low, high = both[:, both.norm(dim=0).topk(5).indices].sort(dim=0).values
    return (2 * low >= high).sum()


def second_wave(weight):
    """The weaker direction of a frequency over its stronger, median of the ten strongest.

    Near 0 a frequency is one wave of some phase, near 1 both its waves are there.
    """
    waves = torch.fft.rfft(weight.double(), dim=0)[1:]
    sizes = torch.linalg.svdvals(torch.stack([waves.real, waves.imag], dim=1))
    stronger, weaker = sizes[sizes.norm(dim=1).argsort(descending=True)[:10]].T
    return (weaker / stronger).median()


start, end, products = (
    spectra(addition, epoch=0),
    spectra(addition),
    spectra(product, order=logs),
)
memorised = {run: spectra(run) for run in (softmax, exact)}
few, without = over(end, effective), lambda one: effective(one[1:])
found = {
    "sparse": (addition, over(end, top)),
    "fewer": (addition, evidence.ratio(few, over(start, effective))),
    "as-memorised": (
        [addition, softmax],
        evidence.ratio(few, over(memorised[softmax], effective)),
    ),
    "clean-up": (addition, (addition.series("weight_norm").diff().iloc[1:] < 0).mean()),
    "memorised-but": {r.label: (r, over(one, without)) for r, one in memorised.items()},
    "balanced": (addition, over(end, balanced)),
    "second": {
        place: (addition, over(weights(addition, place), second_wave))
        for place in ("output", "input")
    },
    "second-product": (product, over(weights(product, order=logs), second_wave)),
    "top": {
        f"memorised with {r.label}": (r, over(one, top)) for r, one in memorised.items()
    }
    | {
        f"addition, {by_logs}": (addition, over(spectra(addition, order=logs), top)),
        "product, natural order": (product, over(spectra(product), top)),
        f"product, {by_logs}": (product, over(products, top)),
    },
}
sheet = claims.read(page.name, found)
shares = {
    "grokked": evidence.words(claims.median(over(end, top)), "{:.1%}"),
    "memorised": evidence.words(claims.median(over(memorised[softmax], top)), "{:.0%}"),
}
bound = sheet.values["sparse"][0].at_least
asked, above = evidence.words(bound, "{:.0%}"), (over(end, top) >= bound).sum()
sheet.box(f"""\
A layer can be written as a sum of waves, its Fourier components: a constant, and a cosine and a
sine of each frequency. Networks that learn modular addition with weight decay use only a few. The
paper says that MLPs which grok without weight decay use few waves too. In our MLP, which groks with
StableMax, ten of {p} components hold a median of {shares["grokked"]} of the squared norm of the
output layer. We had asked for at least {asked}, which {above} of {len(end)} runs reaches, hence
"mixed".

In an MLP that memorised with softmax and had not grokked when its training ended, ten hold a median of
{shares["memorised"]} ({len(memorised[softmax])} networks), and most of that is the constant; β2 of Adam and the length of training
differ there too.""")


# %% tags=["hide-input"]
#| name: fig-prieto2025-12
#| caption: >
#|   In an MLP that grokked (a) the output layer has a few strong frequencies. In one that
#|   memorised (b) only the constant is strong. Each bar is one Fourier component. Its height
#|   is the norm of the component over the 200 hidden units, divided by the root mean square
#|   (rms) of all components, so that the dashed line is at 1. Cosine and sine of a frequency
#|   stand next to each other. The paper draws (a) alone. One network of each kind is drawn,
#|   and the shares in words are medians of all networks.
#| alt: >
#|   Top: some twenty bars stand at one to three times the dashed line, in pairs of unequal
#|   height, the others lie far below it. Bottom: all bars but the first are of about the same
#|   height, near the dashed line; the constant stands far above it.
#| fold: "Code: draw the figure"
def unit(spectrum):
    """Norms in units of their root mean square."""
    return spectrum / spectrum.square().mean().sqrt()


figure, panels = plots.panels(1, rows=2, height=2.2, sharex=True, sharey=True)
k = torch.arange(1, (p + 1) // 2)
for axes, by_seed in zip(panels, (end, memorised[softmax]), strict=True):
    spectrum = unit(next(iter(by_seed.values())))
    cosines, sines = waves(spectrum)
    axes.bar(0, spectrum[0], 0.8, color=plots.GREY, label="constant")
    axes.bar(k - 0.2, cosines, 0.4, color=plots.BLUE, label="cosine")
    axes.bar(k + 0.2, sines, 0.4, color=plots.ORANGE, label="sine")
    axes.axhline(1, color=plots.BLACK, lw=0.9, ls="--")
    axes.set(ylabel="norm / rms", xlim=(-1, len(k) + 1))
    axes.grid(False, axis="x")
for axes, share in zip(panels, shares.values(), strict=True):
    note = f"the ten largest hold {share}"
    note += f", asked: {asked}" if axes is panels[0] else ""
    axes.text(0.99, 0.88, note, transform=axes.transAxes, ha="right")
figure.legend(*axes.get_legend_handles_labels(), ncols=3, loc="outside upper center")
axes.set_xlabel("frequency $k$")
plots.letter(panels, ["grokked with StableMax", "memorised with softmax"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Few components** (a). The effective number of components falls from {told(over(start, effective), "{:.0f}")} of {p} at
  the start to {told(few, "{:.0f}")} in the network that grokked ({{term}}`grokking`). Which
  frequencies are strong differs from {{term}}`seed` to seed.
* **Not only ten.** Twice as many components hold {told(over(end, lambda one: top(one, 20)), "{:.0%}")} of
  the squared norm.
* **Memorising looks different** (b, {{term}}`memorisation`). There the constant alone is tall. Without it the
  effective number of components is {sheet.told("memorised-but softmax")}.
* **Uneven pairs** (a). Cosine and sine of a strong frequency often differ. Of the five
  strongest, {sheet.told("balanced")} have both within a factor of two.
""")

# %% [markdown]
# ## The idea
#
# Each row of the output matrix $W$ ($p \times 200$) belongs to a class $c$, an integer modulo
# $p$. So each column is a function of $c$ on a circle, and has a Fourier series. The rows
# of $F$ are orthonormal waves: a constant, then $\cos(2\pi k c / p)$ and
# $\sin(2\pi k c / p)$ for $k = 1, \dots, (p-1)/2$. The norm of a component over the columns is
#
# $$
# s_j = \bigl\lVert (F W)_{j\,\cdot} \bigr\rVert_2 , \qquad
# \sum_j s_j^2 = \lVert W \rVert_F^2 .
# $$


# %%
def fourier_norms(weight):
    """Norms of the constant, cos 1, sin 1, cos 2, ... of the rows of (p, width)."""
    p = len(weight)
    c, k = torch.arange(p), torch.arange(1, (p + 1) // 2)[:, None]
    angles = 2 * torch.pi * (k * c % p) / p
    pairs = torch.stack([angles.cos(), angles.sin()], dim=1).flatten(0, 1)
    waves = torch.cat([torch.ones(1, p) / 2**0.5, pairs]) * (2 / p) ** 0.5
    return (waves @ weight).norm(dim=1)


# %% tags=["hide-input"]
#| fold: "Code: the same as the package"
noise = torch.randn(p, 200, generator=torch.Generator().manual_seed(42))
mine, packaged = fourier_norms(noise).double(), metrics.fourier_spectrum(noise)
torch.testing.assert_close(mine, packaged, rtol=1e-4, atol=1e-4)

# %% [markdown]
# The effective number of components is the participation ratio
# $(\sum s_j^2)^2 / \sum s_j^4$: it is $p$ if all are equal and 1 if there is only one.
#
# Why Fourier? The function $\cos(2\pi k (a + b - c) / p)$ is largest at the correct class. A network
# can build it from waves of $a$, of $b$ and of $c$.
#
# A product modulo a prime is a sum of logarithms. Every nonzero class is a power
# $g^m$ of a primitive root $g$, and multiplication adds the exponents $m$ modulo $p - 1$. So a network
# that learned *products* should look sparse only if its classes are in the order of $m$.


# %% tags=["hide-input"]
#| name: fig-prieto2025-12-shares
#| caption: >
#|   Few components hold most of the norm if classes are ordered as the task adds them.
#|   (a) Share of the squared norm in the strongest components, one line per seed; the
#|   cross is the claim, 60 % in 10 of 113. (b) Sine against cosine norm of the networks that
#|   grokked, one point per frequency and seed; on the dashed line both are equal. (c) As
#|   (a), for addition and products, with the classes in natural order (solid) or in the order of
#|   their logarithms (dashed).
#| alt: >
#|   Left: the curves of the grokked networks rise far above those of initial and memorising
#|   networks and pass close to the cross. Middle: points of the input layer lie on the
#|   diagonal, the outer ones of the output layer on an arc about zero. Right: addition is
#|   concentrated in natural order and product in logarithmic order, each is flat otherwise.
#| fold: "Code: draw shares, pairs and orders"
def cumulative(axes, spectra, color, label, linestyle="-"):
    squares = (
        torch.stack([*spectra.values()], 1)
        .square()
        .sort(dim=0, descending=True)
        .values.cumsum(0)
    )
    many = torch.arange(1, len(squares) + 1) * 100 / len(squares)
    axes.plot(many, 100 * squares / squares[-1], color=color, ls=linestyle, lw=1.3)
    axes.plot([], [], color=color, ls=linestyle, label=label)


figure, (shares, pairs, orders) = plots.panels(3, height=3.9)
green = plots.COLOUR["StableMax"]
cumulative(shares, end, green, "grokked, StableMax")
cumulative(shares, memorised[softmax], softmax.color, "memorised, softmax")
cumulative(shares, memorised[exact], exact.color, "memorised,\ncollapse-free")
cumulative(shares, start, plots.GREY, "initial weights", ":")
shares.plot(1000 / 113, 60, "x", color=plots.RED, ms=8, mew=2.5, label="claim")
both = (
    (spectra(addition, "input"), plots.BLUE, "s", "input layer"),
    (end, green, "o", "output layer"),
)
for by_seed, color, marker, label in both:
    for spectrum in by_seed.values():
        pairs.plot(*waves(unit(spectrum)), marker, color=color, ms=3, alpha=0.7)
    pairs.plot([], [], marker, color=color, label=label)
pairs.plot([0, 2.5], [0, 2.5], color=plots.BLACK, lw=0.9, ls="--", label="both equal")
pairs.set(
    xlabel="cosine, norm / rms", ylabel="sine, norm / rms", xlim=(0, 3.4), ylim=(0, 3.4)
)
for run, ordered in ((addition, spectra(addition, order=logs)), (product, products)):
    cumulative(orders, spectra(run), run.color, run.label)
    cumulative(orders, ordered, run.color, f"{run.label}, logarithms", "--")
for axes in (shares, orders):
    axes.set(xlabel="strongest components (%)", ylim=(0, 103), xlim=(0, 100))
shares.set_ylabel("share of squared norm (%)")
for axes in (shares, pairs, orders):
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1))
plots.letter([shares, pairs, orders], ["concentration", "pairs", "order of classes"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# The paper has a picture and no numbers, so the bounds are ours. We also added the comparison with a
# network that memorised. This row fails, and by its measure rather than by the networks: there the constant is
# so tall that the effective number is small too. Without the constant the number is large, and by the share of
# the ten largest, the measure of the first row, the two kinds are far apart. But we had not planned these tests.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(grokked, fitted)

# %% [markdown]
# ## What was run
#
# Nothing new. The page reads the first and last weights of two experiments:
# the networks of [Figure 4](fig04_stablemax_grokking.ipynb), and those of
# [Figure 1](fig01_headline.ipynb) that only memorised.
#
# Deviations from the paper, and choices of ours:
#
# 1. *Epoch.* The paper does not say which epoch it shows. Ours is the last: 100,000, and 80,000
#    for the networks that memorised, whose β₂ is 0.99 instead of 0.999.
# 2. *Comparison.* The paper shows the grokked network alone. Initial weights, memorising
#    networks, the input layer and the product are ours.
# 3. *Waves* are real and orthonormal, as in the helper functions of the first public code,
#    commit `740778c` of the
#    [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability).
# 4. *Axis.* Norms are divided by their root mean square, since those of the first and the
#    last epoch differ by orders of magnitude.
# 5. *Storage.* The kept weights of Figure 4 are rounded to float16, three significant digits.
#
# ## Reading the result
#
# **The claim holds in part.** Without {term}`weight decay`, and with weights that grew
# throughout, the output layer uses few frequencies. Networks that memorised with softmax use all of
# them, and a constant. But in most seeds ten components hold less than our 60 %. A floor of
# small components holds the rest: without decay nothing removes what is no longer needed. A picture cannot
# say whether this is as sparse as in {cite:t}`nanda2023`.

# %% tags=["remove-input"]
tables.prose(f"""
**Each strong frequency is one wave.** Uneven pairs look like a defect and are none. In
panel (b) of {{ref}}`the second figure <fig-prieto2025-12-shares>` the strong frequencies of
the output layer lie on an arc: they have equal strength, but any phase. A wave
$\\cos(2\\pi k c / p - \\varphi)$ has the parts $\\cos\\varphi$ and $\\sin\\varphi$.
A second, independent wave of the same frequency is weak in the output layer: it has
{sheet.told("second output", "{:.0%}")} of the strength of the first. In the input layer both are alike. So
{told(over(end, lambda one: effective(waves(one).norm(dim=0))), "{:.0f}")} directions, the effective number of frequencies, tell {p} classes apart.

**The waves belong to the task.** Take networks that learned products. Ten components hold
{sheet.told("top product, natural order", "{:.0%}")} if classes are in natural order, and
{sheet.told("top product, order of logarithms", "{:.0%}")} in the order of logarithms. So the algorithm is
sparse. Long training with {{term}}`StableMax` alone would not depend on the order.
""")

# %% [markdown]
# **The constant.** After {term}`softmax collapse` the correct class has no gradient. The gradients of
# the others no longer cancel, and all {term}`logits <logit>` drift together. That is the
# tall bar of the softmax network. The {term}`collapse-free cross-entropy` leaves none; the fold under the claims
# has how many seeds.
#
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-12-shift
# Relabel the classes by $c \to 5c \bmod p$. What happens to the bars of panel (a), and to the
# effective number?
# ```
#
# ````{solution} ex-prieto2025-12-shift
# :class: dropdown
# Frequency $k$ moves to another one, since 5 has an inverse modulo $p$. The effective number
# stays. Which frequencies are tall is arbitrary, that few are is not.
#
# ```python
# import torch
# from grokbook import metrics
# weight = torch.randn(113, 200) + 3 * torch.sin(torch.arange(113) * 0.4)[:, None]
# moved = weight[[5 * c % 113 for c in range(113)]]
# for matrix in (weight, moved):
#     norms = metrics.fourier_spectrum(matrix)
#     print(int(norms.argmax() + 1) // 2, float(metrics.participation_ratio(norms)))
# ```
# ````
#
# ```{exercise}
# :label: ex-prieto2025-12-hidden
# How sparse is a *single* hidden unit of the output layer, compared with the layer?
# ```
#
# ````{solution} ex-prieto2025-12-hidden
# :class: dropdown
# Somewhat sparser, with an effective number of about 15 against 22 of the layer:
#
# ```python
# from claimbook import papers
# from grokbook import metrics
# record = papers.record("prieto2025/fig04left", scale="paper")
# *_, layer = record.weights("addition", 42, 100_000).values()
# norms = metrics.fourier_spectrum
# units = [metrics.participation_ratio(norms(column[:, None])) for column in layer.T]
# print(float(sorted(units)[100]), float(metrics.participation_ratio(norms(layer))))
# ```
#
# So a unit does not own one frequency; most take part in most of them. For initial weights
# a unit has about $p / 3 = 38$, because squares of random numbers are uneven.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-12-root
# Does panel (c) of the second figure depend on the primitive root?
# ```
#
# ```{solution} ex-prieto2025-12-root
# :class: dropdown
# No. Another root $h = g^r$ numbers the classes by $m / r$ modulo $p - 1$. That permutes the
# frequencies, as in the first exercise.
# ```
#
# ## Run it yourself
#
# One seed of each network. StableMax trains on a smaller table, 70 % of p = 59, for
# 40,000 of 100,000 epochs. The others have 10,000 of 80,000. About 25 minutes on two cores.
#
# ```bash
# make page PAGE=prieto2025/fig12 SCALE=laptop
# ```
