# %% [markdown]
# # [Tiwari et al. 2026 · Table 9]{.kicker} Whether layer norm and penalty add up stays open

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch

from grokbook import claims, evidence, penalties, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
PAPER = {  # Table 9: onset, rank
    "no norm": (float("inf"), None),
    "no norm, penalty": (14_500, 402),
    "norm": (8000, 464),
    "norm, penalty": (5200, 475),
    "affine norm": (7500, 450),
    "affine norm, penalty": (4200, 460),
}
COLOUR = {
    "no norm": plots.COLOUR["baseline"],
    "norm": plots.COLOUR["layer norm"],
    "affine norm": plots.BLUE,
}
page = evidence.Page("tiwari2026/tab09", scale, retrain, device)
record = page.record(arms=("norm",))
runs = {arm: Run(record, arm, arm, COLOUR[arm.removesuffix(", penalty")]) for arm in PAPER}
settings = runs["norm"].settings
width, epochs = settings.model.options["width"], settings.epochs
target, depth = width**0.5, settings.model.options["depth"]
TAPS = [f"{site}.{k}" for k in range(depth) for site in ("attention_out", "mlp_out")]
TEST = "test_accuracy"
given = settings.dataset.options
TWINS = given["train_fraction"] * (1 - 1 / given["p"])  # (b, a) trains, if a is not b
onset = {arm: run.onset() for arm, run in runs.items()}


def faster(slow, fast):
    """Onset of one arm over that of another, at least.

    An onset that never comes counts as one at the end of the training above the line,
    and gives 0 below it. Seeds of which neither comes have no ratio.
    """
    slow, fast = evidence.paired(onset[slow], onset[fast])
    came = (slow < float("inf")) | (fast < float("inf"))
    return slow[came].clip(upper=epochs) / fast[came]


def worst(fast, *slow):
    """The smallest lead over several arms, of the seeds that all have; and all arms."""
    every = evidence.joined({arm: faster(arm, fast) for arm in slow})
    return [runs[arm] for arm in (fast, *slow)], every.min(axis=1)


def radius(run, *, start=False):
    """Radius of what each half of a block adds, over its target: mean over halves."""
    columns = [f"radius.{tap}" for tap in TAPS]
    each = [run.at(c, 0) if start else run.last(c) for c in columns]
    return sum(each) / len(columns) / target


def lead(slow, fast):
    return [runs[slow], runs[fast]], faster(slow, fast)


def gained(arm):
    """Test accuracy at the end with the penalty, less that without, in points."""
    ends = evidence.paired(runs[f"{arm}, penalty"].last(TEST), runs[arm].last(TEST))
    return 100 * (ends[0] - ends[1])


LAST = "affine norm, penalty"
printed = [rank for _, rank in PAPER.values() if rank]
found = {
    "compound": worst("norm, penalty", "norm", "no norm, penalty"),
    "no-norm": lead("no norm", "no norm, penalty"),
    "norm": lead("norm", "norm, penalty"),
    "affine": lead("affine norm", LAST),
    "norm-first": lead("no norm, penalty", "norm"),
    "fastest": (list(runs.values()), worst(LAST, *(arm for arm in PAPER if arm != LAST))[1]),
    "rank": claims.exactly(f"{min(printed)} to {max(printed)}", [r <= 128 for r in printed]),
    "radius": {arm: (run, radius(run)) for arm, run in runs.items()},
    "gained": {arm: (runs[arm], gained(arm)) for arm in ("no norm", "norm", "affine norm")},
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab09
#| caption: >
#|   (a) Test accuracy of a small transformer on modular addition, by its setting of layer
#|   norm, without the penalty (dashed) and with it (solid); one line per arm, the median of
#|   its seeds. Dotted: the level of an onset, and that of swapped pairs. (b) The length of
#|   what each half of a block adds, over its target (grey line), mean over the halves.
#| alt: >
#|   Left: with plain norms test accuracy rises to some 60 per cent within 2,000 steps and ends
#|   below both dotted lines, a little lower with the penalty than without. Right: with the
#|   penalty the radius returns to its target, without it it stays a tenth below.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=3.8)
for arm, run in runs.items():
    if run.seeds:
        name = arm.replace("norm", "plain norm") if arm.startswith("norm") else arm
        style = {"color": run.color, "ls": "-" if arm.endswith("penalty") else "--", "lw": 1.8}
        left.plot(100 * run.series(TEST).ffill().median(axis=1), label=name, **style)
        looks = sum(run.series(f"radius.{tap}") for tap in TAPS) / len(TAPS) / target
        right.plot(looks.ffill().median(axis=1), **style)
for level, name in ((90, "onset"), (100 * TWINS, "a + b = b + a")):
    left.axhline(level, color=plots.GREY, ls=":", lw=1)
    left.text(0.99, level + 1, name, ha="right", transform=left.get_yaxis_transform())
right.axhline(1, color=plots.GREY, lw=1)
left.set(xlabel="step", ylabel="test accuracy (%)", ylim=(-3, 103))
right.set(xlabel="step", ylabel="radius over target", ylim=(0, None))
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
for panel in (left, right):
    plots.thousands(panel)
plots.letter([left, right], ["generalisation", "radius"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
def case(arm):
    """Onset of an arm, or how far it came."""
    value = onset[arm]
    if not len(value):
        return "not run yet"
    if claims.median(value) < float("inf"):
        return told(value)
    ends = told(runs[arm].last(TEST), "{:.0%}")
    return f"not within {epochs:,} steps, with a test accuracy of {ends} at the end"


def row(name, arm):
    """Both onsets of a setting of norms."""
    two = arm, f"{arm}, penalty"
    if not any(runs[one].seeds for one in two):
        return f"* **{name}**: not run yet."
    without, with_it = map(case, two)
    return f"* **{name}**, onset without the penalty: {without}; with it: {with_it}."


names = {"No norm": "no norm", "Plain norm": "norm", "Affine norm": "affine norm"}
every = "\n".join(row(name, arm) for name, arm in names.items())
start = told(radius(runs["norm, penalty"], start=True), "{:.2f}")
tables.prose(f"""
{every}
* **The {{term}}`radius`** (b) starts at {start} of its target $\\sqrt d$ = {target:.1f} with
  plain norms. That comes of the start: matrices are drawn from N(0, 1/width). The penalty
  takes it to {sheet.told("radius norm, penalty")}; without it, it ends at
  {sheet.told("radius norm")}.
* **A plateau near {100 * TWINS:.0f} %** need not be part of the way to the rule. So many
  test pairs have their swapped pair in the training set. A network that has only found that
  $a + b = b + a$ is right on these.
""")

# %% [markdown]
# ## The idea
#
# A {term}`layer norm` makes all inputs of attention and MLP equally long. Nothing bounds what
# they write into the stream. The paper's {term}`radial suppression` does: with $s_l(x)$ for
# what half a block adds to the stream,
#
# $$
# x_{l+1} = x_l + s_l(\mathrm{norm}\, x_l), \qquad
# L = L_{\text{CE}} + \lambda \sum_l \frac1d \bigl( |s_l| - \sqrt d \bigr)^2 ,
# $$
#
# averaged over samples and positions. So one acts on what is read, the other on what is
# written, and they might add up.

# %%
def increments_penalty(increments, strength=0.05):
    """increments: what each half of a block adds, each (samples, positions, d)."""
    total = 0.0
    for s in increments:
        distance = s.norm(dim=-1) - s.shape[-1] ** 0.5
        total = total + distance.square().mean() / s.shape[-1]
    return strength * total


torch.manual_seed(0)
taps = {f"mlp_out.{k}": torch.randn(8, 3, 64) for k in range(2)}
seen = penalties.Forward(torch.zeros(8, 2), torch.zeros(8), {}, taps)
package = penalties.radius(seen, strength=0.05, site="mlp_out")
torch.testing.assert_close(increments_penalty(taps.values()), package)

# %% [markdown]
# Whether this *suppresses* anything depends on where the increments start. Below $\sqrt d$ the
# penalty pulls them outward.
#
# ### A rank of 475
#
# A matrix of 256 rows and 128 columns has rank 128 at most, and no count of its directions,
# stable or smooth, can exceed that. Table 9 prints ranks from 402 to 475 for a network whose
# width is 128. They fit neither the increments nor the batch of 256.

# %%
def stable_rank(rows):
    sizes = torch.linalg.svdvals(rows)
    return float(sizes.square().sum() / sizes[0].square())


noise = torch.randn(256, 128)  # no direction preferred: about as large as it gets
best = torch.linalg.qr(noise)[0]  # all directions exactly alike
print(f"stable rank of noise {stable_rank(noise):.0f}, at most {stable_rank(best):.0f}")

# %% [markdown]
# Only the hidden layer of the MLP may be 512 wide, four times 128, and then more than 256 rows
# are needed. Or the numbers come from elsewhere: 402 is also that of strong decay in Table 2,
# and 464 that of the MLP with layer norm in Table 4, whose onset is 8,000 ± 450 as well. Both
# tables are about the MLP.
#
# ## The claims
#
# {term}`Onset` is the step from which on the test accuracy stays above 90 %; with full batches
# a step is an {term}`epoch`. A ratio is at least what is printed where the slower arm never
# gets there, and 0 where the faster one does not. Where neither does there is no ratio.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# There is no official code. Inferred, and different from the paper:
#
# 1. *Size.* On a laptop the network is half as wide, 70 % of the pairs train, and a step takes
#    256 of them. The paper has half of the pairs, and "batch size 256 (full-batch)" for its
#    MLP, which cannot be both. At paper scale we take full batches.
# 2. *Sequence.* The two operands and an equals sign, read at the last; ReLU, and a hidden
#    layer four times the width.
# 3. *Norms* stand before attention, before the MLP and before the read-out. "No norm" has
#    none of them.
# 4. *Start.* Matrices are drawn from N(0, 1/width), as in the code of {cite:t}`nanda2023`. The
#    paper does not say. What half a block writes then starts near its target.
# 5. *Positions.* All three count in the penalty. Its strength is the MLP's, 0.05; the paper
#    gives none for this network.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Do they add up?** No run tells so far.

**What the plateau says.** An {{term}}`onset` at 90 % asks for the rule. On the way to it lies
the level of swapped pairs, {100 * TWINS:.0f} % here, which memory and $a + b = b + a$ reach.
With half of the pairs, as in the paper, that level would be near 50 %.

**Affine norms.** In Section 2.2 the paper counts it as a virtue that its penalty "has no
learnable affine parameters that could undo the constraint". In Table 9 the combination with
affine norms is the fastest, and gains most: 7,500 / 4,200 = {7500 / 4200:.2f} against
8,000 / 5,200 = {8000 / 5200:.2f}.

**Limits.** One small task at {record.scale} scale, {epochs:,} steps at most. An arm without an
onset may have one later.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab09-start
# A layer with standard weights, $N(0, 1/d)$, reads a row of length $\sqrt d$. How long is
# what it writes? Is that above or below the target of the penalty?
# ```
#
# ````{solution} ex-tiwari2026-tab09-start
# :class: dropdown
# ```python
# import torch
# torch.manual_seed(0)
# d = 128
# x = torch.randn(1000, d)
# for name, std in (("N(0, 1/d)", d**-0.5), ("PyTorch's default", (3 * d) ** -0.5)):
#     written = x @ (torch.randn(d, d) * std)
#     print(f"{name}: {float(written.norm(dim=-1).mean()) / d**0.5:.2f} of the target")
# ```
#
# On target with $N(0, 1/d)$, and below it with PyTorch's smaller weights, from which the
# penalty pulls outward.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab09-twins
# A network learns its training pairs by heart, and that $a + b = b + a$. On which share of
# the test pairs is it right, if 70 % of the pairs train? And with half of them?
# ```
#
# ````{solution} ex-tiwari2026-tab09-twins
# :class: dropdown
# ```python
# import random
# random.seed(0)
# pairs = [(a, b) for a in range(97) for b in range(97)]
# for share in (0.7, 0.5):
#     random.shuffle(pairs)
#     cut = int(share * len(pairs))
#     known, test = set(pairs[:cut]), pairs[cut:]
#     print(share, f"{sum((b, a) in known for a, b in test) / len(test):.0%}")
# ```
#
# About the share that trains. A test accuracy at this level needs no clock, no waves and no
# rule of addition.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab09-rank
# Which stable rank can a matrix have whose 256 rows all have length $\sqrt{512}$ and whose
# largest singular value is 36.5, as Table 1 has it?
# ```
#
# ````{solution} ex-tiwari2026-tab09-rank
# :class: dropdown
# The squares of all singular values add up to the squares of the lengths:
#
# ```python
# print(f"{256 * 512 / 36.5**2:.0f}")
# ```
#
# Table 1 prints 443.
# ````

# %% [markdown]
# ## Run it yourself
#
# Six arms with three seeds each, 11 to 13 minutes a run on one core, three to four hours in
# all.
#
# ```bash
# make page PAGE=tiwari2026/tab09 SCALE=laptop
# ```
