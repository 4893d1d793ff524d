# %% [markdown]
# # [Tiwari et al. 2026 · Table 9]{.kicker} Whether layer norm and the penalty help each other in a transformer stays open

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import penalties

plots.use_style()
PAPER = {  # Table 9: onset, rank
    "no norm": (float("inf"), None),
    "no norm, penalty": (14_500, 402),
    "norm": (8000, 464),
    "norm, penalty": (5200, 475),
    "affine norm": (7500, 450),
    "affine norm, penalty": (4200, 460),
}
WORDS = {
    arm: arm.replace("norm", "plain norm") if arm.startswith("norm") else arm
    for arm in PAPER
}
NORMS = ("no norm", "norm", "affine norm")
INKS = (plots.COLOUR["baseline"], plots.COLOUR["layer norm"], plots.BLUE)
COLOUR = dict(zip(NORMS, INKS, strict=True))
page = evidence.Page("tiwari2026/tab09", scale, retrain, device)
record = page.record(arms=("norm",))
runs = {
    arm: Run(record, arm, arm, COLOUR[arm.removesuffix(", penalty")]) for arm in PAPER
}
settings = runs["norm"].settings
width, epochs = settings.model.options["width"], settings.epochs
target, depth = width**0.5, settings.model.options["depth"]
TAPS = [
    f"radius.{site}.{k}" for k in range(depth) for site in ("attention_out", "mlp_out")
]
TEST, given = "test_accuracy", settings.dataset.options
TWINS = given["train_fraction"] * (1 - 1 / given["p"])  # (b, a) trains, if a is not b
onset = {arm: run.onset() for arm, run in runs.items()}


def faster(slow, fast):
    """Onset of one arm over that of another, by seed, at least.

    A slow arm without an onset counts as one at the end of its training; a fast arm without one
    gives 0. Seeds in which neither has an onset have no ratio.
    """
    slow, fast = evidence.paired(onset[slow], onset[fast])
    came = (slow < float("inf")) | (fast < float("inf"))
    return evidence.testable(slow.clip(upper=epochs) / fast, came)


def worst(fast, *slow):
    """All arms, and the smallest lead over several of them, by seed that all have."""
    every = evidence.joined({arm: faster(arm, fast) for arm in slow})
    return [runs[arm] for arm in (fast, *slow)], every.min(axis=1)


def radius(run, *, start=False):
    """Radius of what each half of a block adds, over its target: mean over halves."""
    each = [run.at(tap, 0) if start else run.last(tap) for tap in TAPS]
    return sum(each) / len(TAPS) / target


def gained(arm):
    """Test accuracy at the end with the penalty, less that without, in points."""
    pushed, bare = evidence.paired(
        runs[f"{arm}, penalty"].last(TEST), runs[arm].last(TEST)
    )
    return 100 * (pushed - bare)


LAST = "affine norm, penalty"
printed = [rank for _, rank in PAPER.values() if rank]
found = {
    "compound": worst("norm, penalty", "norm", "no norm, penalty"),
    "no-norm": worst("no norm, penalty", "no norm"),
    "norm": worst("norm, penalty", "norm"),
    "affine": worst(LAST, "affine norm"),
    "norm-first": worst("norm", "no norm, penalty"),
    "fastest": (
        list(runs.values()),
        worst(LAST, *(arm for arm in PAPER if arm != LAST))[1],
    ),
    "rank": claims.exactly(
        f"{min(printed)} to {max(printed)}", [r <= 128 for r in printed]
    ),
    "gained": {arm: (runs[arm], gained(arm)) for arm in NORMS},
}
sheet = claims.read(page.name, found, width=width)
know = {arm: claims.median(runs[arm].last(TEST)) for arm in ("norm", "norm, penalty")}
few = len(runs["norm, penalty"].seeds)
many = f"{few} run{'s' * (few > 1)} of each"
sheet.box(f"""The paper says that layer norm and the penalty together make a transformer generalise sooner than either alone.
This cannot be judged yet, since a transformer with the penalty alone was not run. At half the paper's width we trained one
with layer norm alone and one with both, {many}. Neither generalises in {epochs:,} steps. With layer norm alone
{100 * know["norm"]:.0f} % of the test set is right at the end, with both {100 * know["norm, penalty"]:.0f} %. Longer runs may still
change this order.""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab09
#| caption: >
#|   A small transformer with layer norm does not generalise in 5,000 steps, without
#|   the penalty (dashed) or with it (solid). (a)
#|   Test accuracy. A network has generalised when it stays above 90 %, the upper
#|   dotted line. A network that only knows its training pairs and a + b = b + a would
#|   reach the lower one. (b) The length of what attention and MLP add in each block,
#|   divided by the length to which the penalty draws it. The line is the mean over
#|   attention and MLP of all blocks. Layer norm has no trainable weights here; the
#|   text below calls it plain norm.
#| alt: >
#|   Left: with layer norm test accuracy rises to some 60 per cent within 2,000 steps and ends
#|   below both dotted lines, a little lower with the penalty than without. Right: with the
#|   penalty the length returns to its target, without it it stays a tenth below.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=3.6)
for arm, run in runs.items():
    if run.seeds:
        style = {
            "color": run.color,
            "ls": "-" if arm.endswith("penalty") else "--",
            "lw": 1.8,
        }
        left.plot(
            100 * run.series(TEST).ffill().median(axis=1),
            label=WORDS[arm].replace("plain", "layer"),
            **style,
        )
        length = sum(run.series(tap) for tap in TAPS) / len(TAPS) / target
        right.plot(length.ffill().median(axis=1), **style)
        if arm in know:
            level, words = 100 * know[arm], f"{100 * know[arm]:.0f} %"
            place = {"va": "top", "fontsize": 9}
            below = 0 if arm == "norm" else 2
            left.text(epochs * 1.02, level - below, words, color=run.color, **place)
for level, name in ((90, "generalised"), (100 * TWINS, "a + b = b + a")):
    left.axhline(level, color=plots.GREY, ls=":", lw=1)
    name = name.replace("a + b = b + a", "knows a + b = b + a")
    left.text(0.02, level + 1, name, transform=left.get_yaxis_transform())
right.axhline(1, color=plots.GREY, lw=1)
right.text(
    0.99, 1.01, "target", ha="right", va="bottom", transform=right.get_yaxis_transform()
)
left.set(xlabel="step", ylabel="test accuracy (%)", ylim=(-3, 103))
left.set_xlim(0, 1.2 * epochs)
right.set(xlabel="step", ylabel="length over target", ylim=(0.8, None))
figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
for panel in (left, right):
    plots.thousands(panel)
plots.letter([left, right], ["generalisation", "length"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
ends = [told(runs[arm].last(TEST), "{:.0%}") for arm in ("norm", "norm, penalty")]
tables.prose(f"""
* **With plain norms** neither network generalises. Test accuracy ends at {ends[0]} without the
  penalty and at {ends[1]} with it.
* **Of the six networks** of Table 9, {sum(not run.seeds for run in runs.values())} have no run here yet.
* **The {{term}}`radius`** starts at {told(radius(runs["norm, penalty"], start=True), "{:.2f}")} of its target with plain norms (b). So the penalty has
  little to do; it ends at {told(radius(runs["norm, penalty"]), "{:.2f}")}.
* **A plateau near {100 * TWINS:.0f} %** need not be part of the way to the rule. This share
  of the test pairs has its swapped pair in the training set.
""")

# %% tags=["hide-input"]
#| fold: "Code: the paper's numbers beside ours"
head = [
    "Network",
    "Onset, paper (steps)",
    "Rank, paper",
    "Onset, here (steps)",
    "Test accuracy at the end, here",
]
tables.grid(head, [
    [WORDS[arm], evidence.words(when), str(rank or "—"), told(onset[arm]),
     told(runs[arm].last(TEST), "{:.0%}", nothing="—")]
    for arm, (when, rank) in PAPER.items()
])  # fmt: skip

# %% [markdown]
# ## The idea
#
# A {term}`layer norm` makes all inputs of attention and MLP equally long. It does not bound what
# they write into the stream. The paper's {term}`radial suppression` does. Let $s_l(x)$ be what
# half a block adds to the stream. Then
#
# $$
# x_{l+1} = x_l + s_l(\mathrm{norm}\, x_l), \qquad
# L = L_{\text{CE}} + \lambda \sum_l \frac1d \bigl( |s_l| - \sqrt d \bigr)^2 ,
# $$
#
# averaged over samples and positions. The norm acts on what is read, the penalty on what is
# written. So their effects might add up.


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
# Whether this *suppresses* anything depends on the start. The penalty draws increments that are
# shorter than $\sqrt d$ outward.
#
# ### A rank of 475
#
# A matrix of 256 rows and 128 columns has rank 128 at most. No count of its directions, stable or
# smooth, can exceed that. Table 9 prints ranks from 402 to 475 for a network of width 128. These
# ranks fit neither the increments nor the batch of 256.


# %%
def stable_rank(rows):
    sizes = torch.linalg.svdvals(rows)
    return float(sizes.square().sum() / sizes[0].square())


noise = torch.randn(256, 128)  # no direction preferred: about as large as it gets
best = torch.linalg.qr(noise)[0]  # all directions exactly alike
print(f"stable rank of noise {stable_rank(noise):.0f}, at most {stable_rank(best):.0f}")

# %% [markdown]
# Only the hidden layer of the MLP may be 512 wide, four times 128. Then its rank needs more than
# 256 rows. Or the numbers belong to another network. Table 2 also prints 402, for strong decay. Table 4
# also prints 464, for the MLP with layer norm, with the same onset of 8,000 ± 450. Both tables are
# about the MLP.
#
# ## The claims
#
# An {term}`onset` is the step from which on test accuracy stays above 90 %. With full batches a
# step is an {term}`epoch`. Where only the slower network never generalises, the ratio is a lower
# bound. Where only the faster one does not, the ratio is 0. Where neither does, there is none.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# There is no official code. Inferred, and different from the paper:
#
# 1. *Size.* On a laptop the network is half as wide, 70 % of the pairs train, and a step takes
#    256 of them. The paper trains on half of the pairs. It says "batch size 256 (full-batch)" for
#    its MLP, which is a contradiction. At paper scale we take full batches.
# 2. *Sequence.* The two operands and an equals sign; the answer is read at the last. ReLU, and a
#    hidden layer four times the width.
# 3. *Norms* are placed before attention, before the MLP and before the read-out. "No norm" has
#    none of them.
# 4. *Start.* Matrices are drawn from N(0, 1/width), as in the code of {cite:t}`nanda2023`. The
#    paper does not say. With this start, what half a block writes begins near its target.
# 5. *Positions.* All three count in the penalty. Its strength is that of the MLP, 0.05; the paper
#    gives none for this network.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Do they add up?** No run tells so far. This is one small task at {record.scale} scale, with
{epochs:,} steps at most. A network that has not generalised may still generalise later.

**What the plateau says.** A network has to know the rule to pass 90 %. Below this level lies
another, {100 * TWINS:.0f} % here, which memory and $a + b = b + a$ reach. With half of the pairs,
as in the paper, this second level is near 50 %.
""")

# %% [markdown]
# **Affine norms.** Section 2.2 praises the penalty because it "has no learnable affine parameters
# that could undo the constraint". Yet in Table 9 the penalty with affine norms is the fastest of
# all. It also gains most there: 7,500 / 4,200 = 1.79. With plain norms the gain is
# 8,000 / 5,200 = 1.54.

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
# Six networks, trained three times each, 11 to 13 minutes a run on one core, three to four hours in
# all.
#
# ```bash
# make page PAGE=tiwari2026/tab09 SCALE=laptop
# ```
