# %% [markdown]
# # [Tiwari et al. 2026 · Figure 5]{.kicker} In small networks first-layer units keep one frequency, second-layer units mix several

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the weights and the claims"
import torch
from pandas import Series

from grokbook import claims, evidence, metrics, names, plots, tables
from grokbook.engine.build import start
from grokbook.evidence import Run, told
from grokbook.models.taps import Recorder

plots.use_style()
page = evidence.Page("tiwari2026/fig05", scale, retrain, device)
record = page.record("fig01", arms=("penalty",))
ARMS = ("baseline", "strong decay", "penalty")
free, decay, push = runs = [Run(record, name, name, plots.COLOUR[name]) for name in ARMS]
there = [run for run in runs if run.seeds]
model = push.settings.model
p, width = push.settings.dataset.options["p"], model.options["widths"][-1]
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
    """Selectivity by reading of a network's units on all pairs."""
    tap = Recorder()
    with torch.no_grad():
        network(pairs, tap)
    return {n: selectivity(tap.found[place], by) for n, (place, by) in READINGS.items()}


def at_the_end(run, seed):
    network = names.resolve("model", model)(**names.options(model))
    last = run.series("test_accuracy")[seed].last_valid_index()
    network.load_state_dict(record.weights(run.arm, seed, last))
    return seen(network)


untrained = seen(start(push.settings, push.seeds[0])[1])
units = {run: {seed: at_the_end(run, seed) for seed in run.seeds} for run in runs}


def of(run, measure, reading):
    """A measure of the selectivities by seed, in one reading."""
    every = units[run].items()
    return Series({s: float(measure(one[reading])) for s, one in every}, dtype=float)


def at_best(run, measure, pick=max):
    """The same in the reading that suits the paper better."""
    return run, of(run, measure, one).combine(of(run, measure, two), pick)


def best(s):
    return s.max(dim=1).values.median()


def clusters(s):
    """Number of tuned units that prefer each frequency."""
    tuned = s[s.max(dim=1).values >= TUNED]
    return torch.bincount(tuned.argmax(dim=1), minlength=s.shape[1])


def filled(s):
    """Frequencies with a cluster."""
    return (clusters(s) >= ENOUGH).sum()


def outside(s):
    """Largest selectivity beside k, 2k and k/2, over that at k; median over units."""
    ratios = []
    for row in s[s.max(dim=1).values > 0]:
        k = int(row.argmax()) + 1
        own = {min(f % p, -f % p) - 1 for f in (k, 2 * k, k * (p + 1) // 2)}
        rest = [f for f in range(len(row)) if f not in own]
        ratios.append(row[rest].max() / row.max() if rest else row.new_zeros(()))
    return torch.stack(ratios).median()


def three(s):
    """Share of the units that prefer one of the three most preferred frequencies."""
    counts = torch.bincount(s.argmax(dim=1), minlength=s.shape[1])
    return counts.topk(3).values.sum() / counts.sum()


def low(s):
    """Share of the units that prefer a frequency of the lower third."""
    return (s.argmax(dim=1) < s.shape[1] // 3).double().mean()


def grown(measure, pick=max):
    """The same of the penalty, in the seeds that generalise."""
    return push, evidence.finished(at_best(push, measure, pick)[1], push)


more, fewer = (of(run, filled, one) + of(run, filled, two) for run in (push, decay))
each = {f"{run.label}, {r}": (run, r) for r in READINGS for run in (decay, push)}
found = {
    "clusters": grown(filled),
    "tuned": grown(best),
    "outside": grown(outside, min),
    "baseline": at_best(free, best, min),
    "three": at_best(decay, three),
    "low": at_best(decay, low),
    "more": ([push, decay], evidence.finished(evidence.ratio(more, fewer), push, decay)),
    "median": {name: (run, of(run, best, r)) for name, (run, r) in each.items()},
    "filled": {name: (run, of(run, filled, r)) for name, (run, r) in each.items()},
}
fields = {"enough": ENOUGH, "level": TUNED, "better": "in the layer that suits the claim better"}
sheet = claims.read(page.name, found, **fields)
control = {name: float(best(s)) for name, s in untrained.items()}
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-05
#| caption: >
#|   Selectivity of every unit for every frequency, first seed, units sorted by the frequency
#|   that they prefer. Top: first hidden layer, with waves of a or of b. Bottom: second, with
#|   waves of a + b. Left: the same network untrained. Sorting makes a diagonal of anything;
#|   what counts is how dark it is.
#| alt: >
#|   Two rows of heat maps. Untrained networks show a faint diagonal. After training the
#|   first layer has a dark diagonal with steps at some frequencies, and the second layer has
#|   several vertical stripes, so that each unit has several frequencies.
#| fold: "Code: draw the figure"
shown = {"untrained": untrained} | {r.label: units[r][r.seeds[0]] for r in there}
figure, axes = plots.panels(len(shown), rows=2, height=3.0, sharex=True, sharey=True)
for place, panel in enumerate(axes):
    row, column = divmod(place, len(shown))
    s = list(shown.values())[column][list(READINGS)[row]]
    s = s[(s.argmax(dim=1) + (1 - s.max(dim=1).values) / 2).argsort()]
    box = (0.5, s.shape[1] + 0.5, len(s), 0)
    look = {"cmap": "Blues", "vmin": 0, "vmax": 0.7, "interpolation": "none"}
    image = panel.imshow(s, aspect="auto", extent=box, **look)
    panel.grid(False)
    panel.set_xlabel("frequency k" if row else "")
    if not column:
        panel.set_ylabel(f"unit, layer {row + 1}")
figure.colorbar(image, ax=list(axes), label="selectivity", pad=0.01)
plots.letter(axes, list(shown) * 2)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
every = "\n".join(
    f"""* **{run.label.capitalize()}.** The {{term}}`selectivity` of the median unit is
  {told(of(run, best, one), "{:.2f}")} in the first layer and
  {told(of(run, best, two), "{:.2f}")} in the second. Tuned units cover
  {told(of(run, filled, one))} and {told(of(run, filled, two))} of 48 frequencies."""
    for run in there[::-1]
)
tables.prose(f"""
{every}
* **The untrained network** has {control[one]:.2f} and {control[two]:.3f}. Sorted, it
  has a diagonal too.
* **Second layer, penalty.** Leave out the own frequency of a unit, its double and its half.
  The best selectivity of the rest is {told(of(push, outside, two), "{:.0%}")} of the own, in
  the median unit. So these units belong to no single frequency.
""")

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
# over all pairs, with $c = a + b$ as we read it. How large can it be? Let a unit be as tuned
# as can be: a ReLU of one wave of $a + b$, or in the first layer of one wave of $a$ plus one
# of $b$.


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
for reading, (_, arguments) in READINGS.items():
    print(reading, [pure(torch.pi * eighths / 8, arguments) for eighths in range(3)])

# %% [markdown]
# Two things follow. The score depends on the phase, since it takes the better of cosine and
# sine and not both: from 0.43 to 0.61 in the first layer, from 0.65 to 0.92 in the second.
# From 0.4 on we call a unit *tuned*; it was 0.5 until the first run showed that
# pure units may have less. In the second layer 0.4 does not mean a single frequency, since
# pure units have 0.65 or more there. And in the second layer a ReLU makes a second band at
# $2k$, a third of the first at least. So the claims below leave $2k$ and $k/2$ out.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-05-clusters
#| caption: >
#|   (a) Selectivity of all units, sorted; solid the second layer with waves of a + b, dashed
#|   the first with waves of a or b. (b) Number of units that are tuned, selectivity 0.4 or
#|   more, by the rank of their frequency; line styles as in (a). Dotted: as many units for
#|   each of 48 frequencies, as the paper has it. First seed.
#| alt: >
#|   Left: dashed curves of the first layer lie above solid ones of the second. Right:
#|   clusters of unequal size, which end long before the 48th frequency.
#| fold: "Code: draw sorted selectivity and clusters"
figure, (left, right) = plots.panels(2, height=3.2)
for run in there:
    for reading, style in ((two, "-"), (one, plots.DASHED)):
        s = units[run][run.seeds[0]][reading]
        tops = s.max(dim=1).values.sort(descending=True).values
        share = torch.linspace(0, 100, len(tops))
        name = run.label if reading == two else None
        left.plot(share, tops, color=run.color, ls=style, label=name)
        sizes = clusters(s).sort(descending=True).values
        ranks = torch.arange(1, len(sizes) + 1)
        right.step(ranks, sizes, color=run.color, ls=style, where="mid")
left.axhline(TUNED, color=plots.GREY, ls=":", lw=1.2)
right.axhline(width / len(sizes), color=plots.GREY, ls=":", lw=1.2)
left.set(xlabel="units (%)", ylabel="selectivity", ylim=(0, 1))
right.set(xlabel="rank of the frequency", ylabel="tuned units", ylim=(-0.3, None))
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plots.letter([left, right], ["how selective", "how many units"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# "Converged" networks are the paper's subject. A seed of ours without an {term}`onset` is no test
# of them; what it has is in the figures and in the measurements.
#
# The paper does not say which hidden layer it shows. Each claim is judged in the layer that
# suits it better. The bounds are ours; the paper prints none for this figure.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# The weights that the members of [Figure 1](fig01_accuracy_curves.ipynb) end with, and their
# activations on all pairs.

# %% [markdown]
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* Laptop records have width 128 of 512 and 60 % of the pairs. A cluster of 4 units
#    of 512 is one of 1 here.
#    At the paper's width the runs of [Figure 1](fig01_accuracy_curves.ipynb) end after 8,000
#    epochs, before strong decay generalises. So this page reads the smaller and longer ones.
# 2. *Waves of what.* The formula's argument is lost in the text that we have; $a + b$ is our
#    reading. The first layer adds a function of $a$ to one of $b$, so it is looked at with
#    waves of either.
# 3. *"Converged".* Ours are the last weights of a run, at 99.9 % test accuracy or at 15,000
#    epochs, whichever comes first.
# 4. *After the ReLU*, in both layers.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Which layer decides what one sees.** Units of the first layer can be tuned because they read
one number at a time. Units of the second mix what they get. A figure of "512 hidden neurons"
shows one of two layers, and the paper does not say which.

**The same motif with strong decay.** Its first layer has {told(of(decay, filled, one))}
frequencies with tuned units, the penalty's {told(of(push, filled, one))}. Three frequencies
hold {told(of(decay, three, one), "{:.0%}")} of its units there, and
{told(of(decay, low, one), "{:.0%}")} prefer one of the lower third: a third is what chance
gives. In the second layer, which the claims take since it suits the paper better, three
frequencies hold {told(of(decay, three, two), "{:.0%}")}, and
{told(of(decay, low, two), "{:.0%}")} prefer the lower third. The order of frequencies has no
meaning for the network, see [Figure 4](fig04_circuit_assembly.ipynb).

**A circuit needs few frequencies.** A handful, each with several phases, suffices to tell all
97 sums apart ({{cite:t}}`nanda2023` found five). Clusters at all
48 would be new. We see them in neither layer.

**What we cannot say.** With the penalty our networks end at a test accuracy of
{told(push.last("test_accuracy"), "{:.1%}")}. Where that is far below 100 %, its panels show a
network on its way.
""")

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
# The weights are those of Figure 1: three arms at width 128, one to two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/fig05 SCALE=laptop
# ```
