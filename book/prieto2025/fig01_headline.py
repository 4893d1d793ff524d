# %% [markdown]
# # [Prieto et al. 2025 · Figure 1]{.kicker} ⊥Grad generalises at once, StableMax late, float64 softmax not in 80,000 epochs

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch

from grokbook import claims, evidence, optimizers, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("prieto2025/fig01", scale, retrain, device)
projected = page.record("fig01a")
tasks = page.record("fig04left", arms=("addition",))
plain = page.record("fig01c", arms=("softmax float64",))
induced = page.record("fig08", arms=("baseline",))
controls = page.record("fig01control")
small = page.record("fig04left", scale=controls.scale)
collapsing = evidence.record("prieto2025/fig02", arms=("60% float64",))
TRAIN, TEST, GAP = "train_accuracy", "test_accuracy", "mean_gap"
ORTHOGONAL, STABLEMAX, SOFTMAX, FREE = (
    plots.COLOUR[name] for name in ("⊥Grad", "StableMax", "softmax", "collapse-free")
)
ortho = Run(projected, "⊥AdamW, softmax, as run", "⊥AdamW, softmax", ORTHOGONAL)
arrow = Run(projected, "⊥AdamW, StableMax, as run", "StableMax", STABLEMAX)
ortho_free = Run(projected, "⊥AdamW, exact CE, as run", "collapse-free", FREE)
stable = Run(tasks, "addition", "AdamW, StableMax", STABLEMAX)
softmax = Run(plain, "softmax float64", "AdamW, softmax", SOFTMAX)
softmax32 = Run(plain, "softmax float32", "softmax in float32", SOFTMAX)
free = Run(plain, "exact CE float64", "collapse-free", FREE)
free60 = Run(induced, "baseline", "collapse-free, 60 %", FREE)
softmax60 = Run(collapsing, "60% float64", "softmax, 60 %", SOFTMAX)
slow = Run(controls, "exact CE", "collapse-free, β2 0.999", FREE)
fast = Run(controls, "exact CE, β2 0.99", "collapse-free, β2 0.99", FREE)
fast_softmax = Run(controls, "softmax, β2 0.99", "softmax, β2 0.99", SOFTMAX)
stable_small = Run(small, "addition", "StableMax", STABLEMAX)
END = 80_000  # epochs of the paper's panels (b) and (c)
fit, most = stable.first(TRAIN, at_least=0.99), stable.generalised(accuracy=0.95)
half = stable.generalised(accuracy=0.5)
delay = {run: run.delay(accuracy=0.99) for run in (ortho, arrow, ortho_free)}
beta2 = {run: run.settings.optimizer.options["betas"][1] for run in (free, free60, slow, fast)}
WINDOWS = {  # modulus and share of its table, and where the gap grows steadily
    free: ("113, 40 %", 5000, 8000),
    free60: ("113, 60 %", 3000, 8000),
    slow: ("59, 70 %", 10_000, 40_000),
    fast: ("59, 70 %", 10_000, 40_000),
}


def growth(run):
    """Growth of the mean gap per 1,000 epochs: measured, and as far as AdamW allows."""
    _, since, until = WINDOWS[run]
    first, last = run.at(GAP, since), run.at(GAP, until)
    allowed = 1000 * 4 / 3 * np.log(last / first) / (until - since)
    return 1000 * (last - first) / (until - since), allowed - 500 * math.log(beta2[run])


found = {
    "at-the-end": (stable, stable.at(TEST, END)),
    "overfitted": (stable, stable.at(TEST, 10_000)),
    "softmax-stays": (softmax, softmax.largest(TEST, until=END)),
    "ortho-by": (ortho, ortho.generalised(accuracy=0.95)),
    "ortho-delay": (ortho, delay[ortho]),
    "reversed": ([ortho, stable], delay[ortho] / evidence.difference(most, fit)),
    "half": (stable, half),
    "delay-stablemax": (arrow, delay[arrow]),
    "delay-free": (ortho_free, delay[ortho_free]),
    "zero": (softmax, softmax.at("zero_loss", END)),
    "softmax32": (softmax32, softmax32.at(TEST, END)),
    "free": (free, free.at(TEST, END)),
    "pace-40": (free, growth(free)[0]),
    "pace-60": (free60, growth(free60)[0]),
    "pace-slow": (slow, growth(slow)[0]),
    "pace-fast": (fast, growth(fast)[0]),
    "ends": {run.label: (run, run.last(TEST)) for run in (slow, fast, fast_softmax)},
    "behind": (
        [fast, fast_softmax],
        100 * evidence.difference(fast.last(TEST), fast_softmax.last(TEST)),
    ),
    "zero-small": (fast_softmax, fast_softmax.last("zero_loss")),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-prieto2025-01
#| caption: >
#|   ⊥Grad generalises within some 120 epochs, StableMax after tens of thousands, softmax
#|   not at all. Test accuracy solid, single seeds thin, their range shaded; training
#|   accuracy dashed. Coloured diamonds: the authors' notebook; grey: printed in the paper.
#| alt: >
#|   Three panels of accuracy against epoch. With the orthogonal gradient training and test
#|   accuracy both reach 100 percent near epoch 120. With StableMax training accuracy is at
#|   100 percent from the start and test accuracy follows between epochs 30,000 and 80,000.
#|   With softmax test accuracy stays at zero to epoch 80,000. The points of the authors'
#|   notebook agree; the printed ones are later.
#| fold: "Code: draw the figure"
theirs = evidence.reference("prieto2025/fig01")
printed = evidence.reference("prieto2025/fig01_printed")
figure, panels = plots.panels(3, height=3.6, sharey=True)
for panel, run, letter in zip(panels, (ortho, stable, softmax), "abc", strict=True):
    plots.accuracy(panel, run)
    both = (theirs[1::2], "authors' notebook", run.color), (printed, "paper, printed", plots.GREY)
    for points, name, color in both:
        mine = points[(points.panel == letter) & (points.quantity == TEST)]
        if len(mine):
            plots.paper(panel, mine.epoch, 100 * mine.value, label=name, color=color)
    panel.set_ylabel("accuracy (%)" if letter == "a" else "")
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
for panel in panels[1:]:
    plots.thousands(panel)
arrows = {"arrowstyle": "<->", "color": plots.GREY}
panels[1].annotate("", (fit.median(), 50), (half.median(), 50), arrowprops=arrows)
words = "from 99 %\ntrain to\n50 % test"  # of the accuracies
panels[1].text(2000, 54, words, size=9.5, color=plots.GREY)
plots.letter(panels, ["⊥Grad", "StableMax", "neither"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
guess = 100 / softmax.settings.dataset.options["p"]
tables.prose(f"""
Removing the gradient along the weights ends the {{term}}`delay`; StableMax only lets grokking happen.

* **(a) ⊥AdamW** has 99 % of the training set at epoch {told(ortho.fitted(accuracy=0.99))}. The
  test set follows {sheet.told("ortho-delay")} epochs later.
* **(b) {{term}}`StableMax`** has 99 % of the training set at epoch {told(fit)} and half of
  the test set at epoch {told(half)}. That is {{term}}`grokking`, with no
  {{term}}`weight decay`. At epoch {END:,} it has {sheet.told("at-the-end")}.
* **(c) Softmax** (n = {len(softmax.seeds)}) fits as early and is at {told(softmax.at(TEST, END), "{:.1%}")} at epoch
  {END:,}; a guess has {guess:.1f} %. By then the loss of {sheet.told("zero", "{:.0%}")} of the
  samples is exactly zero.
""")

# %% [markdown]
# ## The idea
#
# [Figure 3](fig03_stablemax.ipynb) has the idea of StableMax, and
# [Figure 6](fig06_orthogonal_optimizers.ipynb) that of {term}`⊥Grad <orthogonal gradient>`.
# Here is a question between (b) and (c). StableMax does not collapse before the task is solved, and
# it also has another shape than {term}`softmax`. Which of the two makes it generalise? A control separates them:
# the {term}`collapse-free cross-entropy`, softmax without {term}`softmax collapse`.
#
# It has a limit of its own. At a {term}`gap` $\Delta$ its gradient is about $e^{-\Delta}$.
# AdamW divides by the root of a second moment, $v_{t+1} \ge \beta_2 v_t$, which falls by no
# more than $\sqrt{\beta_2}$ a step. If the gradient falls faster, the steps shorten until it
# does not:
#
# $$
# \Delta_{t+1} - \Delta_t \;\lesssim\; - \tfrac12 \ln \beta_2 .
# $$
#
# That is 5.03 in 1,000 epochs for $\beta_2 = 0.99$ and 0.50 for 0.999, whatever the learning
# rate.


# %%
def pace(beta2, steps=20_000):
    """Growth per 1,000 steps of a gap that AdamW widens along a gradient exp(-gap)."""
    gap, m, v, gaps = 0.0, 0.0, 0.0, []
    for _ in range(steps):
        gradient = math.exp(-gap)
        m = 0.9 * m + 0.1 * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        gap += 0.1 * m / math.sqrt(v)  # 0.1 is the learning rate
        gaps.append(gap)
    return 1000 * (gaps[-1] - gaps[steps // 2 - 1]) / (steps - steps // 2)


# %% tags=["hide-input"]
#| fold: "Code: the same by the package's AdamW, and the paces measured"
gap = torch.zeros(1, dtype=torch.float64, requires_grad=True)
adamw = optimizers.AdamW([gap], lr=0.1, betas=(0.9, 0.99), eps=1e-150, weight_decay=0.0)
gaps = []
for _ in range(6000):
    gap.grad = -torch.exp(-gap.detach())
    adamw.step()
    gaps.append(gap.item())
assert math.isclose(pace(0.99, 6000), (gaps[-1] - gaps[2999]) / 3, rel_tol=1e-3)
weights = ["Without growing weights", "With growing weights"]
head = ["Modulus, share of table", "β2", *weights, "Measured"]
rows = []
for run, (task, *_) in WINDOWS.items():
    measured, allowed = growth(run)
    known = (task, f"{beta2[run]:g}", f"{pace(beta2[run]):.2f}")
    rows.append([*known, told(allowed, "{:.2f}"), told(measured, "{:.2f}")])
tables.grid(head, rows, caption="Mean gap of collapse-free runs: growth in 1,000 epochs")

# %% [markdown]
# A network is a little faster than that one number, since its weights grow. Its logits go
# with their third power. So a gradient grows as $\Delta^{2/3}$ beside $e^{-\Delta}$, and what
# a step adds to the gap grows as $\Delta^{2/3}$ too. The pace becomes
# $-\frac12 \ln \beta_2 + \frac43\, \mathrm d \ln \Delta / \mathrm d t$, the fourth column of
# the table. There is nothing fitted in it.

# %% tags=["hide-input"]
#| name: fig-prieto2025-01-control
#| caption: >
#|   A loss that cannot collapse changes nothing in (a), and its gap grows at the pace that
#|   AdamW allows. (a) Under ⊥AdamW, training accuracy dashed. (b) Test accuracy under AdamW
#|   on a smaller task, where StableMax groks within 20,000 epochs. (c) Mean gap of the
#|   collapse-free runs of the table above, by modulus and share; dotted, the slopes of
#|   AdamW's limit. Dash-dotted in (b) and (c): collapse-free with β2 = 0.999. With float32
#|   moments, those of modulus 113, the gap bends near 50.
#| alt: >
#|   Left: softmax and collapse-free loss rise together to 100 percent under the orthogonal
#|   gradient, StableMax later. Middle: StableMax reaches 100 percent by epoch 20,000; the
#|   collapse-free loss stays at a guess with beta2 0.999 and rises to a third with 0.99,
#|   softmax to a fifth.
#|   Right: gaps grow in straight lines parallel to the dotted ones, and those of float32
#|   runs bend near 50.
#| fold: "Code: draw the control"
figure, panels = plots.panels(3, height=3.9)
first, middle, right = panels
for run, color in ((ortho, SOFTMAX), (ortho_free, FREE), (arrow, STABLEMAX)):
    name = run.label.removeprefix("⊥AdamW, ")
    plots.accuracy(first, run, seeds=False, label=name, color=color)
for run in (stable_small, fast_softmax, slow, fast):
    plots.curve(middle, run, TEST, percent=True, linestyle="-." if run is slow else "-")
for run, (task, *_) in WINDOWS.items():
    plots.curve(right, run, GAP, linestyle="-." if run is slow else "-", label=task)
for decay, start, (x, y) in ((0.99, 8, (9800, 22)), (0.999, 6, (9800, 3))):
    level = start - math.log(decay) / 2 * np.array([0, 6000])
    right.plot([3000, 9000], level, color=plots.GREY, ls=":", lw=2.2, label="_limit")
    right.text(x, y, f"β2 {decay:g}", color=plots.GREY, ha="right")
middle.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(-3, 103))
right.set(xlabel="epoch", ylabel="mean gap", xlim=(0, 10_000), ylim=(0, 62))
for panel in (middle, right):
    plots.thousands(panel)
for panel in (first, middle):
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
plots.end_labels(right)
plots.letter(panels, ["⊥AdamW", "small task", "pace"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# "Delay" is from 99 % of the training set to 99 % of the test set. The paper prints no
# numbers for this figure; the bounds are ours. What it says of slingshots was not run: three
# seeds of (c) to epoch 200,000, with every step of a burst logged, are nine hours on one core.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(projected, tasks, plain, controls, small, induced, collapsing)

# %% [markdown]
# ## What was run
#
# Panel (b) is the addition of [Figure 4](fig04_stablemax_grokking.ipynb), whose page has its
# settings. Those of (a) and (c) follow. In the names of arms "exact CE" is the collapse-free
# cross-entropy, and "as run" means the betas and eps of item 3 below that PyTorch has.
#
# Where the runs differ from the paper, or paper and
# [official code](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability/tree/0cc9e8d)
# from each other:
#
# 1. *Loss of (a).* An arrow in the figure says "⊥AdamW + StableMax", the released script
#    has softmax. Both were run, and the softmax of the script is judged.
# 2. *Form of ⊥Grad.* Equations 11 and 12 project all weights at once, without rescaling. The
#    code projects tensor by tensor and rescales, and so do we;
#    [Figure 6](fig06_orthogonal_optimizers.ipynb) compares the two.
# 3. *Hyper-parameters of ⊥AdamW.* The released wrapper ignores the betas and the eps that it
#    is given and steps with those of PyTorch. Both were run; those of PyTorch are judged.
# 4. *Precision of (c).* The released script has a float64 softmax; an earlier one had
#    float32 and a tenth of the learning rate. Both precisions were run, at the later rate.
# 5. *$\beta_2$* is 0.999 in (b) and 0.99 in (c), in the official code as here. So the two
#    panels do not differ in the loss alone.
# 6. *Two versions of the curves.* Those printed in the paper are later than those of the
#    notebook. Our runs are those of the released script.
# 7. *The end of (c).* A user of the code went on to 200,000 epochs. There it generalised
#    after all, after bursts of the loss ({term}`slingshot`).
# 8. *The small task* is addition modulo 59 with 70 % of the table. Weights, moments and loss
#    of the control are float64 there, and eps is 1e-150.
#
# ## Reading the result

# %% tags=["remove-input"]
curves = (points[points.panel == "b"] for points in (theirs, printed))
notebook, paper = (points.epoch[points.value >= 0.95].min() for points in curves)
tables.prose(f"""
**Where we agree.** All three panels look as the paper has them, but (b) is late in {(most > END).sum()} of
{len(stable.seeds)} seeds. It reaches 95 % at epoch {told(most)}. The authors' notebook does by
epoch {notebook:,}, the printed curve by {paper:,}. Our slowest seed is short of the bound at epoch
{END:,}, with {told(stable.at(TEST, END).nsmallest(1), "{:.1%}")}, and has
{told(stable.last(TEST).nsmallest(1), "{:.1%}")} at epoch {stable.settings.epochs:,}.

**⊥Grad has no collapse to avoid.** In (a) {told(ortho.largest("collapse_float32"), "{:.0%}")} of the
samples are collapsed at the worst log. The collapse-free loss does the same, with
{sheet.told("delay-free")} epochs of {{term}}`delay`. So it is the projection that removes the delay.
With StableMax, which the paper's Figure 1a names beside it, ⊥AdamW is slower: 95 % at epoch
{told(arrow.generalised(accuracy=0.95))}. {int(np.isinf(delay[arrow]).sum())} of {len(arrow.seeds)} seeds do
not have 99 % of both sets within 300 epochs.

**From (c) to (b), three things change:** rounding, the shape of the loss, and $\\beta_2$.
The control takes the rounding away, and it does not settle the matter. On the paper's task
its weights are float32, and [rounding in AdamW](fig08_induced_collapse.ipynb) stops it near
a gap of 50. In float64 on the small task, at the $\\beta_2$ of StableMax, it ends at
{told(slow.last(TEST), "{:.1%}")}, a guess. But AdamW lets its gap grow to
{told(slow.last(GAP), "{:.0f}")} only, less than the 36.7 at which a float64 softmax
collapses. Up to there plain softmax would do the same, so that run tests no collapse.
""")

# %% tags=["remove-input"]
half_way, middle = fast.settings.epochs // 2, 10_000
late = {back: 2 * half_way - back for back in (10_000, 5000)}  # epochs before the end
pair = (fast_softmax, fast)
gains = [told(100 * (r.last(TEST) - r.at(TEST, e)), "{:+.1f}") for e in late.values() for r in pair]
tables.prose(f"""
With $\\beta_2 = 0.99$, that of (c), the control goes ten times faster, to a gap of
{told(fast.last(GAP), "{:,.0f}")}, far beyond any collapse. And it does generalise, slowly: its test
accuracy is {told(fast.at(TEST, half_way), "{:.1%}")} at epoch {half_way:,} and
{told(fast.last(TEST), "{:.1%}")} at the end, still rising (n = {len(fast.seeds)}). StableMax
ends at {told(stable_small.last(TEST), "{:.1%}")} there.

**What a collapse costs, in runs that differ in the loss alone.** Plain softmax, with the same
start, pairs, rate and $\\beta_2$ as that control (n = {len(fast_softmax.seeds)}), does what it does until the
first samples collapse. Then it goes on in {{term}}`slingshots <slingshot>`: at epoch
{middle:,} it has {told(fast_softmax.at(TEST, middle), "{:.1%}")} of the test set, the control
{told(fast.at(TEST, middle), "{:.1%}")}. At the end the loss of {sheet.told("zero-small")} of its
samples is exactly zero, and it is at {told(fast_softmax.last(TEST), "{:.1%}")}. Seed by seed the
control is {sheet.told("behind")} points ahead. In the last 10,000 epochs softmax gains {gains[0]} points,
and the control {gains[1]}; in the last 5,000 it is {gains[2]} against {gains[3]}. So on this task a
collapse slows a network, in the end nearly to a stop. Most of the distance to StableMax is there without one.
""")

# %% tags=["remove-input"]
since = softmax60.first("collapse_float64", above=0.5).median()
gained = {run: 100 * (run.last(TEST) - run.at(TEST, since)) for run in (free60, softmax60)}
rates = [run.settings.optimizer.options["lr"] for run in (free60, softmax60)]
tables.prose(f"""
**Collapse is not all that separates softmax from StableMax.** A loss whose gradient falls
exponentially is held to about $-\\frac12 \\ln \\beta_2$ a step. That of StableMax falls with a power of
the gap and is not: its mean gap on the small task is {told(stable_small.at(GAP, 20_000), "{:,.0f}")} at
epoch 20,000. Epochs of the two are worth different amounts.

**On the paper's modulus** no two runs differ in the loss alone. Figures 2 and 8 have 60 % of
the table. There a [float64 softmax](fig02_softmax_collapse.ipynb) gains
{told(gained[softmax60], "{:.0f}")} points of test accuracy after epoch {since:,.0f}, where half of its
samples have collapsed. A [loss that cannot collapse](fig08_induced_collapse.ipynb) gains
{told(gained[free60], "{:.0f}")} after the same epoch. But its learning rate is {rates[0]:g} and the
other's {rates[1]:g}.

**Collapse is not a full stop either.** In float32 softmax collapses earlier than in float64.
Its test accuracy, {sheet.told("softmax32")} at epoch {END:,}, is the higher one (n = {len(softmax32.seeds)}).
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-01-norm
# ⊥Grad removes the gradient along the weights. Do the weights of panel (a) keep their
# norm?
# ```
#
# ````{solution} ex-prieto2025-01-norm
# :class: dropdown
# No. A step at a right angle to the weights lengthens them to second order. AdamW then
# rescales every entry of the projected gradient, after which it is no longer orthogonal:
#
# ```python
# from grokbook import evidence
# record = evidence.record("prieto2025/fig01a")
# run = evidence.Run(record, "⊥AdamW, softmax, as run")
# print(run.series("weight_norm").loc[[0, 100, 300]].round(1))
# ```
# ````
#
# ```{exercise}
# :label: ex-prieto2025-01-threshold
# Does the missing delay depend on the threshold of 99 %?
# ```
#
# ````{solution} ex-prieto2025-01-threshold
# :class: dropdown
# Training accuracy leads on the way up, so the delay at 50 % is longer. A delay of thousands
# of epochs does not appear at any threshold:
#
# ```python
# from grokbook import evidence
# record = evidence.record("prieto2025/fig01a")
# run = evidence.Run(record, "⊥AdamW, softmax, as run")
# for share in (0.5, 0.9, 0.99):
#     print(share, run.delay(accuracy=share).to_dict())
# ```
# ````
#
# ```{exercise}
# :label: ex-prieto2025-01-pace
# Which $\beta_2$ lets the gap of a collapse-free loss grow ten times as fast as 0.99 does?
# And is the learning rate of any use?
# ```
#
# ```{solution} ex-prieto2025-01-pace
# :class: dropdown
# $-\frac12 \ln \beta_2$ is ten times as large for $\beta_2 = 0.99^{10} = 0.904$. That is
# about $\beta_1$, and with it the first moment, which falls by $\beta_1$ a step, starts to
# matter. The learning rate decides how soon the limit is reached and how far the
# steps have to shorten; change the 0.1 in `pace`.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-01-underflow
# The control has no collapse, but it is not immune. At which gap between the correct
# logit and all others is its loss exactly zero in float64?
# ```
#
# ````{solution} ex-prieto2025-01-underflow
# :class: dropdown
# When $e^{-\Delta}$ itself underflows, at $\Delta \approx 745$, twenty times the gap at
# which softmax begins to absorb:
#
# ```python
# import torch
# from grokbook.losses import exact_cross_entropy
# for gap in (700.0, 745.0, 746.0):
#     z = torch.tensor([[gap, 0.0]], dtype=torch.float64)
#     print(gap, float(exact_cross_entropy(z, torch.tensor([0]), dtype=torch.float64)))
# ```
# ````
#
# ## Run it yourself
#
# One seed, StableMax and the control on the small task, and 10,000 of 80,000 epochs of (c).
# On one core that takes about five hours, most of it for the control with its three seeds.
# For panel (a) alone, `grokbook run prieto2025/fig01a --scale laptop` takes a minute.
#
# ```bash
# make page PAGE=prieto2025/fig01 SCALE=laptop
# ```
