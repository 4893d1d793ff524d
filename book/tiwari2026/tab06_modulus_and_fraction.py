# %% [markdown]
# # [Tiwari et al. 2026 · Table 6]{.kicker} The printed onsets are possible, yet small networks show no speed-up

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width only the cell of Figure 1 is there
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs, the printed table and the claims"
import math

import numpy as np

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("tiwari2026/tab06", scale, retrain, device)
sweep = page.record()
base = page.record("fig01", arms=("penalty", "strong decay"), scale=sweep.scale)
decayed = page.record("fractions", scale=base.scale)
MODULI, NEVER, TEST = (97, 137, 211), None, "test_accuracy"
PRINTED = {  # Table 6: mean and deviation, over five seeds of 50,000 epochs at most
    (0.6, "strong decay"): ((9000, 420), (7580, 223), (6720, 331)),
    (0.6, "penalty"): ((1320, 75), (1260, 49), (1200, 63)),
    (0.5, "strong decay"): ((15_540, 1480), (12_740, 723), (10_600, 856)),
    (0.5, "penalty"): ((2460, 136), (2200, 0), (1960, 162)),
    (0.4, "strong decay"): ((33_320, 1942), (24_520, 2114), (20_860, 1839)),
    (0.4, "penalty"): ((6680, 349), (5200, 253), (4380, 133)),
    (0.3, "strong decay"): (NEVER, NEVER, (49_840, 320)),
    (0.3, "penalty"): ((26_980, 1503), (17_480, 757), (12_260, 554)),
}
FRACTIONS, KINDS = (0.6, 0.5, 0.4, 0.3), ("penalty", "strong decay")
FAST = FRACTIONS[:3]
cells = [cell for row in PRINTED.values() for cell in row if cell]
shared = base.experiment.arm("penalty").dataset.options  # of Figure 1: one of the cells


def run_of(kind, p, f):
    """The run of a cell with most seeds: of the sweep, or the same setting of Figure 1."""
    how = (f"{kind}, f = {f:g}", plots.COLOUR[kind])
    found = [Run(sweep, f"{kind}, p = {p}, f = {f:g}", *how)]
    if (p, f) == (shared["p"], shared["train_fraction"]):
        found.append(Run(base, kind, *how))
    return max(found, key=lambda run: len(run.seeds))


runs = {(kind, p, f): run_of(kind, p, f) for kind in KINDS for p in MODULI for f in FRACTIONS}
other = {
    (kind, f): Run(decayed, f"{kind}, decay 1, f = {f:g}", kind, plots.COLOUR[color])
    for f in FAST
    for kind, color in (("penalty", "penalty"), ("no penalty", "baseline"))
}
other = {key: run for key, run in other.items() if run.seeds}
onset = {key: run.onset() for key, run in runs.items()}
again = {key: run.onset() for key, run in other.items()}


def ratio(p, f):
    """Onset of strong decay over that of the penalty; 0 where the latter never comes."""
    return evidence.times(onset["strong decay", p, f], onset["penalty", p, f])


def printed_ratio(p, fraction):
    slow, quick = (PRINTED[fraction, kind][MODULI.index(p)] for kind in KINDS[::-1])
    return (slow[0] if slow else 50_000) / quick[0]


# Which means and deviations five whole numbers of hundreds can have
def squares(most):
    """[r, S]: whether five whole numbers that add up to r can have squares adding to S."""
    reach = math.isqrt(most)
    table = np.zeros((10 * reach + 1, most + 1), dtype=bool)  # sums go round: -1 is last
    table[0, 0] = True
    for _ in range(5):
        moved = np.zeros_like(table)
        for x in range(-reach, reach + 1):
            moved[:, x * x :] |= np.roll(table, x, axis=0)[:, : most + 1 - x * x]
        table = moved
    return table


REACHABLE = squares(2400)


def fits(mean, spread, *, left_out=0):
    """Whether five multiples of 100 have this mean and deviation; 1 left out: of a sample."""
    total = 5 * mean / 100  # in hundreds
    if total != int(total):
        return False
    rest = int(total) % 5
    sums = np.flatnonzero(REACHABLE[rest])
    variance = (sums - rest**2 / 5) / (5 - left_out)
    return bool((abs(100 * variance.clip(0) ** 0.5 - spread) <= 0.5).any())


def chance(mean, spread, around=25):
    """How many of the deviations near the printed one could have been reached."""
    near = range(max(0, spread - around), spread + around + 1)
    return np.mean([fits(mean, one) for one in near])


def speed_up(p):
    """Strong decay over the penalty in the cells of a modulus: the smallest of those run."""
    done = [f for f in FAST if len(ratio(p, f))]
    where = " and ".join(f"{f:g}" for f in done) or "0.4 and more"
    found = evidence.joined({f: ratio(p, f) for f in done or FAST}).min(axis=1)
    of = [runs[kind, p, f] for f in done for kind in KINDS]
    return {f"p = {p}, f = {where}": (of, found)}


def ordered(kind):
    """Onsets at p = 97 by run; none where not even the easiest cell has one."""
    came = np.isfinite(onset[kind, 97, 0.6]).any()
    return {runs[kind, 97, f]: onset[kind, 97, f][: None if came else 0] for f in FAST}


def latest(kind, moduli, pick):
    """Onsets at the smallest share of pairs, where every modulus was run."""
    found = evidence.joined({p: onset[kind, p, 0.3] for p in moduli})
    return [runs[kind, p, 0.3] for p in moduli], found.agg(pick, axis=1)


population = [fits(*cell) for cell in cells]
sample = [fits(*cell, left_out=1) for cell in cells]
by_luck = math.prod(chance(*cell) for cell in cells)
low, high = evidence.paired(ratio(97, 0.4), ratio(97, 0.6))
both_ends = [runs[kind, 97, f] for f in (0.4, 0.6) for kind in KINDS]
found = {
    "faster": speed_up(97),
    "faster-elsewhere": speed_up(137) | speed_up(211),
    "few-pairs": latest("penalty", MODULI, "max"),
    "penalty-pairs": ordered("penalty"),
    "decay-pairs": ordered("strong decay"),
    "easier": (both_ends, (high - low)[(high > 0) | (low > 0)]),
    "decay-fails": latest("strong decay", (97, 137), "min"),
    "population": claims.exactly(f"{sum(population)} of {len(cells)}", population),
    "sample": claims.exactly(f"{sum(sample)} of {len(cells)}", sample),
    "decay-1": {
        f"{kind}, p = 97, f = {f:g}": (other[kind, f], value)
        for (kind, f), value in again.items()
    },
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab06
#| caption: >
#|   Onset over the share of training pairs, one panel per modulus. Diamonds: the paper;
#|   hollow triangles: none in its 50,000 epochs. Filled, a little to the right: ours, one mark
#|   per seed, dots where an onset came and triangles at the last epoch where none did.
#|   Squares, a little to the left: ours with weight decay 1, green with the penalty, black
#|   without it.
#| alt: >
#|   Three panels on a logarithmic axis. In the paper both arms rise steeply as pairs become
#|   fewer. Strong decay lies five to seven times above the penalty from a share of 0.4 on; at
#|   0.3 it has an onset in the last panel alone, four times above. Our marks are in the first
#|   panel alone. At a share of 0.6 strong decay has onsets near the paper's; the penalty has
#|   none at any share, and strong decay none at 0.5 and below. With weight decay 1 both arms have them near the paper's penalty.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(3, height=3.5, sharey=True)
for place, (panel, p) in enumerate(zip(axes, MODULI, strict=True)):
    for kind in KINDS:
        color, row = plots.COLOUR[kind], [PRINTED[f, kind][place] for f in FRACTIONS]
        there = [(f, cell[0]) for f, cell in zip(FRACTIONS, row, strict=True) if cell]
        panel.plot(*zip(*there, strict=True), color=color, ls=":", lw=1.2)
        name = "paper" if kind == "penalty" else ""
        plots.paper(panel, *zip(*there, strict=True), color=color, label=name)
        gone = [f for f, cell in zip(FRACTIONS, row, strict=True) if not cell]
        panel.plot(gone, [5e4] * len(gone), "^", color=color, mfc="white", ms=8)
        panel.plot([], [], color=color, lw=3, label=kind)
        for f in FRACTIONS:
            for seed, epoch in onset[kind, p, f].items():
                end = runs[kind, p, f].series(TEST)[seed].last_valid_index()
                y, mark = (epoch, "o") if math.isfinite(epoch) else (end, "^")
                x = f - (0.012 if kind == "penalty" else 0.027)
                panel.plot(x, y, mark, color=color, ms=8, mec="white", mew=0.7)
    for (kind, f), found in again.items() if p == 97 else ():
        there, x = found[np.isfinite(found)], f + (0.035 if kind == "penalty" else 0.018)
        edge = {"ms": 5.5, "mec": "white", "mew": 0.7}
        panel.plot([x] * len(there), there, "s", color=other[kind, f].color, **edge)
    if not any(run.seeds for (_, modulus, _), run in runs.items() if modulus == p):
        panel.text(0.45, 800, "not run here", color=plots.GREY, ha="center")
    panel.set(yscale="log", xlabel="share of pairs f", xlim=(0.65, 0.25), ylim=(600, 7e4))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
axes[0].set_ylabel("onset (epoch)")
for kind, color in {kind: run.color for (kind, _), run in other.items()}.items():
    axes[0].plot([], [], "s", color=color, ms=5.5, label=f"decay 1, {kind} (ours)")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plots.letter(axes, [f"p = {p}" for p in MODULI])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
first = {key: value.min() for key, value in onset.items() if len(value)}
came = "; ".join(f"{runs[k].label}: {told(onset[k])}" for k, v in first.items() if v < math.inf)
ends = "; ".join(
    f"{runs[k].label}: {told(runs[k].last(TEST), '{:.0%}')}" for k, v in first.items() if v == math.inf
)
both = "; ".join(f"{k}, f = {f:g}: {told(value)}" for (k, f), value in again.items())
high = [printed_ratio(p, f) for p in MODULI for f in FRACTIONS if f > 0.3]
tables.prose(f"""
* **The paper's table** has the penalty ahead in every cell. From f = 0.4 on the factors are
  {min(high):.1f} to {max(high):.1f}.
* **Here**, at p = 97, these have an {{term}}`onset`: {came}. The others have none, and
  end with a test accuracy of: {ends}.
* **With weight decay 1** instead of 0.001 and 0.1, a setting that the paper does not have:
  {both}.
* **The digits say how it was measured.** Five multiples of 100 epochs can have
  {sum(population)} of the {len(cells)} printed pairs of mean and standard deviation. That is
  with squares divided by five. Divided by four it would be {sum(sample)}.
""")

# %% [markdown]
# The table, with ratios that the paper does not print, and what there is here:

# %% tags=["hide-input"]
#| fold: "Code: the table of cells"
def shown(cell):
    return f"{cell[0]:,} ± {cell[1]:,}" if cell else "> 50,000"


def line(f, p):
    both = [PRINTED[f, kind][MODULI.index(p)] for kind in KINDS]
    times = "≥ " * (f <= 0.3) + f"{printed_ratio(p, f):.1f}"
    return [f"{f:g}", str(p), *map(shown, both), times, *(told(onset[k, p, f]) for k in KINDS)]


head = ["f", "p", "Penalty", "Strong decay", "Ratio", "Penalty, here", "Strong decay, here"]
tables.grid(head, [line(f, p) for f in FRACTIONS for p in MODULI])

# %% [markdown]
# ## The idea
#
# A mean of five epochs that are multiples of 100 is a multiple of 20. Let their sum be
# $100 s$, and the sum of their squares $10^4 S$. Then the deviation is
#
# $$
# \sigma = 100 \sqrt{\frac{S}{5} - \frac{s^2}{25}} = 20 \sqrt{5 S - s^2} ,
# $$
#
# with whole numbers under the root. Few deviations are of that form when they are small. So
# a table with its digits carries a trace of the protocol behind it:

# %%
for mean, spread in (PRINTED[0.5, "penalty"][0], PRINTED[0.6, "penalty"][0]):
    assert fits(mean, spread) and not fits(mean, spread + 1)
    print(f"{mean:,} ± {spread}: {list(evidence.behind(mean, spread)[0])}")
capped = [50_000] * 4 + [49_200]
print(f"{np.mean(capped):,.0f} ± {np.std(capped):,.0f} from {capped}")

# %% [markdown]
# The last line is the cell of strong decay at $p$ = 211 and $f$ = 0.3. Five runs with one
# onset, at 49,200, and four that never came but were entered as 50,000 give its digits
# exactly. The paper says that strong decay "exhausts the training budget" there.
#
# ## The claims
#
# A ratio of 0 says that the penalty did not come and strong decay did. Where neither comes the
# seed is no test, as at f = 0.5 and 0.4 here. The bound of 2.5 is ours, fixed before the records were read: half of the
# paper's smallest ratios.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(sweep, base, decayed)

# %% [markdown]
# ## What was run
#
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Cells.* Laptop records have p = 97 alone. The 16 cells of the two other moduli wait for a
#    GPU, and so does the paper's width of 512.
# 2. *Budget.* 12,000 epochs of 50,000 (15,000 for what is shared with Figure 1). From f = 0.5
#    on that is too few for the paper's strong decay, not for its penalty, and the ratio needs
#    the penalty alone to be 0. At f = 0.3 it is too few for both: nothing is judged there.
# 3. *Shared runs.* Where [Figure 1](fig01_accuracy_curves.ipynb) has the same setting with
#    more seeds, its runs stand in.
# 4. *Weight decay 1* is our own addition, with 12,000 epochs.
# 5. *Columns.* The heads of the table are lost in the text that we have. That they are 97,
#    137 and 211 is taken from reviews of the paper.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
small = [cell for cell in cells if cell[1] < 200]
rare = max(chance(*cell) for cell in small)
tables.prose(f"""
**The digits fit one protocol.** Had the deviations come from elsewhere, few would be
reachable. There are {len(small)} cells with a deviation below 200. At most
{100 * rare:.0f} % of the whole numbers within 25 of one are reachable, and
{sum(fits(*cell) for cell in small)} of the printed ones. Over all {len(cells)} cells these
shares multiply to {by_luck:.0e}. So Table 6 seems to have five seeds, test accuracy every 100 epochs, and the deviation of a population. Where a
run did not come it has the budget.

**That does not say what was trained.** At p = 97 and width 128, with the text taken
literally, the penalty has the onsets above. Strong decay at f = 0.6 has
{told(onset["strong decay", 97, 0.6])}, where the paper prints {PRINTED[0.6, "strong decay"][0][0]:,}.
So one arm comes near to what is printed, and the other does not.

**Decay comes that early.** With weight decay 1 at f = 0.6 the onset is
{told(again["penalty", 0.6])} with the penalty; {told(again["no penalty", 0.6])}
without it. The paper prints {PRINTED[0.6, "penalty"][0][0]:,} with it. At this decay the
penalty would hardly be missed. Whether the paper's runs had such a decay cannot be known from its text.
[Another page](readings.ipynb) has more readings, and other widths.

**What the ratios hide.** The arms differ in two things, the penalty and a weight decay 100
times weaker. And both onsets rise as pairs become fewer. From f = 0.6 to 0.3 at p = 97 that
of the penalty does by a factor of
{PRINTED[0.3, "penalty"][0][0] / PRINTED[0.6, "penalty"][0][0]:.0f}. A remedy of the delay
would be expected to flatten that.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab06-zero
# One cell reads 2,200 ± 0. What does it say of the five runs, and how likely is that if an
# onset is spread evenly over an interval of 150 epochs around 2,150?
# ```
#
# ````{solution} ex-tiwari2026-tab06-zero
# :class: dropdown
# All five crossed between the looks at 2,100 and 2,200. From 2,075 to 2,225 two thirds of
# the interval give that:
#
# ```python
# print(f"{(100 / 150) ** 5:.0%}")
# ```
#
# It is likely only if onsets scatter less than the interval between looks.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab06-interval
# All means of the table are multiples of 20. Which intervals between looks would also give
# that, and which are ruled out?
# ```
#
# ````{solution} ex-tiwari2026-tab06-interval
# :class: dropdown
# Five multiples of $k$ have a mean that is a multiple of $k / 5$:
#
# ```python
# means = [9000, 7580, 6720, 1320, 1260, 1200, 15540, 12740, 10600, 2460, 2200, 1960]
# for k in (50, 100, 200, 500):
#     print(k, all(5 * mean % k == 0 for mean in means))
# ```
#
# 200 and 500 are ruled out. With 50 every second mean would be an odd multiple of 10.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab06-census
# Four runs entered as 50,000 give a mean of 49,840 and a deviation of 320. Which of the
# three numbers of a cell, mean, deviation and median, can still be trusted then?
# ```
#
# ```{solution} ex-tiwari2026-tab06-census
# :class: dropdown
# The median, as a bound: it is at least 50,000. Mean and deviation are both too small, by an
# amount that nobody knows. A table should print how many of five came.
# ```

# %% [markdown]
# ## Run it yourself
#
# Both arms at four shares of the pairs, p = 97, one seed each: about an hour on one core.
#
# ```bash
# make page PAGE=tiwari2026/tab06 SCALE=laptop
# ```
