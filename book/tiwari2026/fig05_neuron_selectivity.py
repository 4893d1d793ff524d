# %% [markdown]
# # [Tiwari et al. 2026 · Figure 5]{.kicker} Our networks with the penalty do not generalise, so we cannot tell whether their units form clusters

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the weights and the claims"
import torch
from pandas import Series

from claimbook import claims, evidence, names, plots, tables
from claimbook.engine.build import start
from claimbook.evidence import Run, finished, told
from claimbook.protocol import Recorder
from grokbook import metrics

plots.use_style()
page = evidence.Page("tiwari2026/fig05", scale, retrain, device)
record = page.record("fig01", arms=("penalty",))
ARMS = ("baseline", "strong decay", "penalty")
free, decay, push = runs = [
    Run(record, name, name, plots.COLOUR[name]) for name in ARMS
]
large = page.record("fig01", scale="paper" if scale == "laptop" else scale)
wide = Run(large, "baseline", "baseline, width 512", plots.COLOUR["baseline"])
longer = page.record("decay512", scale="paper" if scale == "laptop" else scale)
further = Run(longer, "strong decay", "strong decay, width 512", decay.color)
p, width = push.settings.dataset.options["p"], push.settings.model.options["widths"][-1]
pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
a, b = pairs.T
TUNED = 0.4  # a unit of one frequency scores at least 0.43, see "The idea"
ENOUGH = max(1, width // 128)  # units of a cluster: 4 of 512, 1 of 128
READINGS = {
    "layer 1, a or b": ("hidden.0", (a, b)),
    "layer 2, a + b": ("hidden.1", (a + b,)),
}
one, two = READINGS


def selectivity(h, arguments):
    """Largest correlation with cos or sin of 2 pi k c / p, (units, frequencies)."""
    h = h.double() - h.double().mean(dim=0)
    h = h / h.norm(dim=0).clamp(min=1e-12)
    k, found = torch.arange(1, (p + 1) // 2), []
    for c in arguments:
        angle = 2 * torch.pi * torch.outer(c.double(), k.double()) / p
        found += [h.T @ wave / wave.norm(dim=0) for wave in (angle.cos(), angle.sin())]
    return torch.stack(found).abs().max(dim=0).values


def seen(network):
    """Selectivity by layer of a network's units on all pairs."""
    tap = Recorder()
    with torch.no_grad():
        network(pairs, tap)
    return {n: selectivity(tap.found[place], by) for n, (place, by) in READINGS.items()}


def at_the_end(run, seed):
    model = run.settings.model
    network = names.resolve("model", model)(**names.options(model))
    last = run.series("test_accuracy")[seed].last_valid_index()
    network.load_state_dict(run.record.weights(run.arm, seed, last))
    return seen(network)


units = {
    run: {seed: at_the_end(run, seed) for seed in run.seeds}
    for run in (*runs, wide, further)
}


def of(run, measure, layer):
    """A measure of the selectivities of a layer, by seed."""
    every = units[run].items()
    return Series({seed: float(measure(s[layer])) for seed, s in every}, dtype=float)


def at_best(run, measure, pick=max):
    """The same in the layer that suits the paper better."""
    return run, of(run, measure, one).combine(of(run, measure, two), pick)


def best(s):
    return s.max(dim=1).values.median()


def filled(s):
    """Frequencies that enough tuned units prefer."""
    tuned = s[s.max(dim=1).values >= TUNED]
    return (torch.bincount(tuned.argmax(dim=1), minlength=s.shape[1]) >= ENOUGH).sum()


def outside(s):
    """Largest selectivity beside k, 2k and k/2, over that at k; median over units."""
    s = s[s.max(dim=1).values > 0].clone()
    own, k = s.max(dim=1).values, s.argmax(dim=1) + 1
    for other in (k, 2 * k, k * (p + 1) // 2):
        s.scatter_(1, (torch.minimum(other % p, -other % p) - 1)[:, None], 0)
    return (s.max(dim=1).values / own).median()


def three(
    s,
):  # share of the units that prefer one of the three most preferred frequencies
    return torch.bincount(s.argmax(dim=1)).topk(3).values.sum() / len(s)


def low(s):  # the same, a frequency of the lower third
    return (s.argmax(dim=1) < s.shape[1] // 3).double().mean()


more, fewer = (
    sum(of(run, filled, layer) for layer in READINGS) for run in (push, decay)
)
grown = {id: (push, finished(at_best(push, *how)[1], push)) for id, how in
         {"clusters": (filled,), "tuned": (best,), "outside": (outside, min)}.items()}  # fmt: skip
found = grown | {
    "baseline": at_best(wide, best, min),
    "three": at_best(further, three),
    "low": at_best(further, low),
    "more": ([push, decay], finished(evidence.ratio(more, fewer), push, decay)),
}
fields = {
    "enough": ENOUGH,
    "level": TUNED,
    "better": "in the layer that suits the claim better",
}
reach = wide.settings.model.options["widths"][0]
sheet = claims.read(page.name, found, width=width, wide=reach, **fields)
share = claims.median(push.last("test_accuracy"))
score = {n: claims.median(of(decay, best, n)) for n in READINGS}
sheet.box(f"""The paper says that with its penalty each hidden unit follows a wave of one frequency over the numbers
to be added, and that about ten units share each frequency, as a cluster. Our small MLPs with the penalty, of width {width}, cannot
test that: they have {100 * share:.0f} % of the test set right when their runs end and have not generalised.

With strong weight decay small MLPs
({len(decay.seeds)} runs) do generalise, and their two layers differ. In the first the median unit follows its best frequency with a correlation of
{score[one]:.2f}, about what a unit with this frequency alone would have. In the second it is {score[two]:.2f}, well below what such a unit would
have there, since units mix several frequencies. At the paper's width the median unit of either layer follows its best
frequency less closely (table below).""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-05
#| caption: >
#|   With strong decay, in small networks, most units of the first layer keep to one frequency, those
#|   of the second layer mix several. (a), (b) The units of one network with strong decay. Each row is one unit,
#|   darker where it correlates with a wave of the frequency below. Rows are sorted by the best
#|   frequency. Sorting draws a diagonal in any network; what counts is how dark it is. (c) The
#|   correlation of the median unit with its best frequency, for all three methods: one dot per run,
#|   filled for layer 1, hollow for layer 2. The baseline has neither penalty nor strong decay and
#|   has not generalised either. Width 128.
#| alt: >
#|   Two heat maps of unit against frequency for strong decay. The first layer has a dark diagonal
#|   with steps, the second has vertical stripes, so that each unit has several frequencies. Right:
#|   the correlation of the median unit, highest with strong decay in layer 1.
#| fold: "Code: draw the figure"
LOOK = {"cmap": "Blues", "vmin": 0, "vmax": 0.7, "interpolation": "none"}


def heat(panel, s):
    """The selectivity of units, sorted by the frequency that they prefer."""
    s = s[(s.argmax(dim=1) + (1 - s.max(dim=1).values) / 2).argsort()]
    box = (0.5, s.shape[1] + 0.5, len(s), 0)
    panel.grid(False)
    return panel.imshow(s, aspect="auto", extent=box, **LOOK)


figure, axes = plots.panels(3, height=3.8)
for panel, layer in zip(axes, READINGS, strict=False):
    image = heat(panel, units[decay][decay.seeds[0]][layer])
    panel.set_xlabel("frequency k")
axes[0].set_ylabel("unit")
figure.colorbar(image, ax=axes[1], label="correlation", pad=0.02)
for x, run in enumerate((free, push, decay)):
    for layer, fill in zip(READINGS, (run.color, "white"), strict=True):
        values = of(run, best, layer)
        axes[2].plot([x] * len(values), values, "o", color=run.color, mfc=fill, ms=7)
for layer, word in zip(READINGS, ("layer 1", "layer 2"), strict=True):
    words = f"{word}:\n{score[layer]:.2f}"
    up, place = (0.03, "bottom") if layer == one else (-0.06, "top")
    where = {"ha": "right", "va": place}
    axes[2].text(2.3, score[layer] + up, words, color=decay.color, **where)
note = f"{100 * share:.0f} % of the\ntest set right"
axes[2].text(1, 0.38, note, color=push.color, ha="center", fontsize=9)
axes[2].set(xlim=(-0.4, 2.4), ylim=(0, 0.75), ylabel="correlation, median unit")
axes[2].set_xticks(range(3), ["baseline", "penalty", "strong\ndecay"])
plots.letter(axes, ["strong decay, layer 1", "strong decay, layer 2", "all runs"])
plots.show(figure)

# %% [markdown]
# ## What to see
#
# * **First layer (a):** a dark diagonal. Most units follow one frequency, as far as the score can tell.
# * **Second layer (b):** vertical stripes. Each unit follows several frequencies, and the paper's clusters are
#   not there.
# * **How the frequencies come about** is on the page of [Figure 4](fig04_circuit_assembly.ipynb), which reads the
#   same networks.
#
# In the table *tuned* units have a {term}`selectivity`, the largest correlation, of 0.4 or more. For "rest over
# own" we leave out the frequency that a unit prefers, its double and its half. Then we divide the best
# selectivity of the rest by the unit's own. Small values mean one frequency.

# %% tags=["remove-input"]
measures = {"Selectivity of the median unit": (best, "{:.2f}"), "Rest over own": (outside, "{:.2f}"),
            "Frequencies with tuned units": (filled, "{:.0f}")}  # fmt: skip
rows = [[run.label, layer, *(told(of(run, how, layer), show) for how, show in measures.values())]
        for layer in READINGS for run in (*runs, further)]  # fmt: skip
tables.grid(["Method", "Layer, and waves of", *measures], rows)

# %% [markdown]
# ## The idea
#
# For unit $h_j$ and frequency $k$ the paper takes
#
# $$
# S_{jk} = \max\left( \left| \operatorname{corr}\left(h_j, \cos \tfrac{2 \pi k c}{p}\right)
#   \right|, \left| \operatorname{corr}\left(h_j, \sin \tfrac{2 \pi k c}{p}\right) \right|
#   \right)
# $$
#
# over all pairs, with $c = a + b$ as we read it. How large can it be? Take a unit that is as tuned
# as possible. In the second layer it is a ReLU of one wave of $a + b$. In the first it is a ReLU of
# one wave of $a$ plus one of $b$. We give its score for its own frequency and for the double of that, at three phases:


# %%
def pure(phase, arguments, k=1):
    """Selectivity of a unit that has one frequency, for this frequency and its double."""
    waves = sum(torch.cos(2 * torch.pi * k * c / p - phase) for c in arguments)
    s = selectivity(torch.relu(waves)[:, None], arguments)[0]
    return f"{s[k - 1]:.2f} and {s[2 * k - 1]:.2f}"


h = torch.relu(torch.randn(len(pairs), 3, dtype=torch.float64))
torch.testing.assert_close(
    selectivity(h, (a + b,)), metrics.waves(h, pairs, p).selectivity
)
for layer, (_, arguments) in READINGS.items():
    print(layer, [pure(torch.pi * eighths / 8, arguments) for eighths in range(3)])

# %% [markdown]
# Two things follow. First, the score depends on the phase, since it takes the better of cosine and
# sine. In the first layer it is 0.43 to 0.61, in the second 0.65 to 0.92. We call a unit *tuned*
# from 0.4 on. This level was 0.5 until the first run showed that pure units may have less. In the
# second layer a unit with 0.4 may still have several frequencies. Second, a ReLU makes a second band at $2k$ in the second layer, at least a
# third as strong. So the claims leave $2k$ and $k/2$ out.

# %% [markdown]
# ## The claims
#
# The paper speaks of "converged" networks. A seed of ours without an {term}`onset` is no test
# of them; its values are in the figure and in the measurements.
#
# The paper does not say which hidden layer it shows. We judge each claim in the layer that
# suits it better. The bounds are ours; the paper prints none for this figure.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, large, longer)

# %% [markdown]
# ## What was run
#
# We read the last weights of the networks of [Figure 1](fig01_accuracy_curves.ipynb), and their
# activations on all pairs. There is no official code. What differs from the paper, or had to be
# inferred:
#
# 1. *Size.* Laptop records have width 128 of 512 and 60 % of the pairs. A cluster of 4 units
#    of 512 is one of 1 here. At the paper's width the runs of
#    [Figure 1](fig01_accuracy_curves.ipynb) end after 8,000 epochs. So this page reads the smaller and
#    longer runs. The rows of the baseline and of strong decay are judged at the paper's width, the latter
#    after 20,000 epochs.
# 2. *Waves of what.* The formula's argument is lost in the text that we have; $a + b$ is our
#    reading. The first layer adds a function of $a$ to one of $b$, so we compare it with waves of
#    either.
# 3. *"Converged".* Ours are the last weights of a run, at 99.9 % test accuracy or at 15,000
#    epochs, whichever is first.
# 4. *After the ReLU*, in both layers.

# %% [markdown]
# ## Reading the result
#
# **What one sees depends on the layer.** Units of the first layer can be tuned because they read
# one number at a time. Units of the second mix what they get. A figure of "512 hidden neurons"
# shows one of two layers, and the paper does not say which.

# %% tags=["remove-input"]
tables.prose(f"""
**Few low frequencies?** The paper says that strong decay concentrates on them. At the paper's width, in the layer that suits it
better, the top three have {told(at_best(further, three)[1], "{:.0%}")} of the units, and {told(at_best(further, low)[1], "{:.0%}")} prefer the lower third. At width {width}, in
the first layer, the top three have {told(of(decay, three, one), "{:.0%}")} of the units. {told(of(decay, low, one), "{:.0%}")} prefer the
lower third, as chance would have it. The second layer suits the paper better: three have
{told(of(decay, three, two), "{:.0%}")}, and {told(of(decay, low, two), "{:.0%}")} prefer the lower third.
""")

# %% [markdown]
# The order of frequencies has no meaning for the network, see
# [Figure 4](fig04_circuit_assembly.ipynb).
#
# **A circuit needs few frequencies.** A handful, each with several phases, suffices to tell all
# 97 sums apart ({cite:t}`nanda2023` found five). Clusters at all 48 would be new. We see them in
# neither layer.
#
# **What we cannot say.** Our networks with the penalty know about two thirds of the test pairs, so
# their panels below show a network on its way.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-05-others
#| caption: >
#|   Sorting draws a diagonal even in an untrained network; training makes it darker. One network of
#|   each kind; top, first hidden layer with waves of a or of b; bottom, second with waves of a + b.
#|   Rows are units, columns frequencies.
#| alt: >
#|   Two rows of heat maps. The untrained network shows a faint diagonal in the first layer and
#|   nothing in the second. Baseline and penalty have a darker diagonal, and stripes in the second.
#| fold: "Code: draw the other networks"
first = seen(start(push.settings, push.seeds[0])[1])
shown = {"untrained": first} | {r.label: units[r][r.seeds[0]] for r in (free, push)}
figure, axes = plots.panels(3, rows=2, height=2.2, sharex=True, sharey=True)
for place, panel in enumerate(axes):
    row, column = divmod(place, len(shown))
    image = heat(panel, [*shown.values()][column][(one, two)[row]])
    panel.set_xlabel("frequency k" if row else "")
    panel.set_ylabel("" if column else f"unit, layer {row + 1}")
figure.colorbar(image, ax=list(axes), label="correlation", pad=0.01)
plots.letter(axes, list(shown) * 2)
plots.show(figure)

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-05-several
# A unit is the sum of $n$ waves of equal size and the best phases, without a ReLU. What is
# its largest selectivity? How many waves does 0.37 mean?
# ```
#
# ````{solution} ex-tiwari2026-05-several
# :class: dropdown
# Each wave has $1/n$ of the variance, and the correlation is its root, $1/\sqrt n$:
#
# ```python
# for s in (0.92, 0.5, 0.37):
#     print(f"{s}: {1 / s**2:.1f} waves")
# ```
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-05-sorted
# Draw 128 rows of 48 random numbers from 0 to 1, and sort the rows by the place of their
# largest. What do you see? How many places are the largest of at least one row?
# ```
#
# ````{solution} ex-tiwari2026-05-sorted
# :class: dropdown
# A diagonal, and nearly all places are filled:
#
# ```python
# import numpy as np
# rows = np.random.default_rng(0).random((128, 48))
# print(len(set(rows.argmax(axis=1))), "of 48")
# ```
#
# So a claim about clusters needs a level of selectivity, here 0.4.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-05-phase
# Which score would not depend on the phase of a unit?
# ```
#
# ```{solution} ex-tiwari2026-05-phase
# :class: dropdown
# The root of the sum of both squares, $\sqrt{\mathrm{corr}_{\cos}^2 + \mathrm{corr}_{\sin}^2}$:
# the two are orthogonal over all pairs, so it is the correlation with the best phase. For
# the rectified wave of $a + b$ it is 0.92 always.
# ```

# %% [markdown]
# ## Run it yourself
#
# The weights are those of Figure 1: three methods at width 128, one to two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/fig05 SCALE=laptop
# ```
