# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 11: Weak penalties on the logits grok before StableMax, Taylor softmax stops half way (partly reproduced)
#
# **Claim.** Besides {term}`StableMax` (a), a penalty on the norm of the {term}`logits
# <logit>` (b) and Taylor softmax, $1 + x + x^2/2$ in place of $e^x$ (c), make the
# network {term}`grok <grokking>` without {term}`weight decay`, and (c) is the fastest
# of the three {cite:p}`prieto2025`. **Here.** The penalty at four strengths, since the
# paper names none, and Taylor softmax with and without the gradient that is said to
# regularise it; task, scale and seeds are in the tables. **What came out.** The two
# weaker penalties grok, many times sooner than StableMax; a stronger one rises first
# and gets to 95 % no sooner than StableMax, the strongest does not even fit. Taylor
# softmax starts early and ends with little more than half of the test set. Only on a
# smaller task, most of whose table is trained on, is it the first. There it owes
# everything to the gradient through its minimum: without it the network learns neither
# set.

# %% [markdown]
# ## What was run
#
# The paper gives the three losses in words and the second-order formula; task and network
# are presumed to be those of its other figures. No program of this figure was released.
# Optimiser and precision are those of the released StableMax run, so that the three
# differ in the loss alone. A run ends early once its test accuracy is at 99.5 %.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import inspect
import math

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import to_hex
from matplotlib.ticker import LogLocator, NullFormatter

from grokbook import claims, evidence, losses, plots, tables

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
TAYLOR, DETACHED = "Taylor", "Taylor, minimum detached"
mixed = evidence.record("prieto2025/fig11", arms=("logit norm 0.01", "Taylor"), **page)
tasks = evidence.record("prieto2025/fig04left", arms=("addition",), **page)
whole = all(mixed.seeds(a.name) for a in mixed.experiment.arms if a.name != DETACHED)
if scale == "best" and not retrain and not (whole and tasks.scale == mixed.scale):
    # a race needs one task: the better scale waits until all of it is recorded
    mixed, tasks = (evidence.record(one.name, scale="laptop") for one in (mixed, tasks))
plain = evidence.record("prieto2025/fig01c", **page)
small = evidence.record("prieto2025/fig11", scale="laptop")

# %% tags=["hide-input"]
tables.settings(
    mixed,
    paper={
        "dataset": "modular",
        "dataset.p": "113",
        "dataset.operation": "add",
        "model": "mlp",
        "model.widths": "(200, 200)",
        "loss": "softmax with a norm penalty (b), Taylor softmax (c)",
        "loss.detach_min": "False: the gradient flows",
        "optimizer.weight_decay": "0",
        "penalties": "norm of the logits, strength not stated",
    },
    notes={
        "dataset.train_fraction": "as in the paper's other figures",
        "loss.dtype": "as in the released StableMax run",
        "optimizer.lr": "as in the released StableMax run",
        "optimizer.betas": "as in the released StableMax run",
        "optimizer.eps": "as in the released StableMax run",
        "penalties": "strength times the mean L2 norm of a row",
    },
)

# %% tags=["hide-input"]
tables.arms(mixed)

# %% [markdown]
# Panel (a) is the addition of [Figure 4](fig04_stablemax_grokking.ipynb) at the same
# {term}`scale`. The control is the {term}`collapse-free cross-entropy` of
# [Figure 1](fig01_headline.ipynb), which has another $\beta_2$; it is shown where its
# record has the task of this page. The smaller task is this experiment at the scale of a
# laptop; it has a few rows in the table of claims.

# %% tags=["hide-input"]
EXACT = "exact CE float64"
TASK = mixed.experiment.arms[0]


def same_task(record, arm):
    """Whether an arm has the data and the network of panels (b) and (c)."""
    other = record.experiment.arm(arm)
    return (other.dataset, other.model) == (TASK.dataset, TASK.model)


def task(arm):
    share = arm.dataset.options["train_fraction"]
    beta2 = arm.optimizer.options["betas"][1]
    return (
        f"addition mod {arm.dataset.options['p']}, {share:.0%} of the table, "
        f"β2 {beta2:g}, {arm.epochs:,} epochs at most"
    )


has_stable = bool(tasks.seeds("addition"))
has_exact = bool(plain.seeds(EXACT)) and same_task(plain, EXACT)
print(f"(b), (c)      {task(TASK)}")
print(f"(a)           {task(tasks.experiment.arm('addition'))}")
print(
    f"control       {task(plain.experiment.arm(EXACT))}"
    f"{'' if has_exact else ', not shown'}"
)
print(f"smaller task  {task(small.experiment.arms[0])}")

# %% [markdown]
# ## The idea in code
#
# **Penalty.** The loss is $-\log \operatorname{softmax}(z)_y + \lambda \lVert z \rVert$.
# Once a sample is fitted, scaling its logits up lowers the first term and raises the
# second, and the two balance. Suppose that all $C - 1$ wrong logits are equal; then for a
# gap $\Delta$ to the correct one the smallest norm is $\Delta \sqrt{1 - 1/C}$, and the sum
# is smallest at
#
# $$
# \Delta^* = \log \frac{(C - 1)(1 - \mu)}{\mu},
# \qquad \mu = \lambda \sqrt{1 - 1/C} ,
# $$
#
# which grows only with the logarithm of $1/\lambda$. So the strength hardly matters for
# the size of the logits, and each of those run here keeps the gap below the 16.6 at which
# a float32 softmax begins to {term}`absorb <absorption>` a competitor: no run with the
# penalty should ever collapse.


# %%
def balance(strength, classes):
    """Gap and logit norm at which the penalty and the loss of a sample balance."""
    unit = math.sqrt(1 - 1 / classes)
    gap = math.log((classes - 1) * (1 - strength * unit) / (strength * unit))
    return gap, gap * unit


classes = TASK.model.options["classes"]
print("strength   gap   logit norm")
for strength in (1e-4, 1e-3, 1e-2, 1e-1):
    gap, norm = balance(strength, classes)
    print(f"{strength:8g}{gap:6.1f}{norm:13.1f}")
print(f"float32 absorbs a single competitor from a gap of {24 * math.log(2):.1f}")

# %% [markdown]
# **Taylor softmax.** The parabola turns around at $x = -1$, so the smallest logit of the
# sample is subtracted first, and the paper lets the gradient flow through it:
#
# $$
# \mathcal{L} = -\log \frac{t(z_y - \min z)}{\sum_k t(z_k - \min z)},
# \qquad t(x) = 1 + x + \frac{x^2}{2} .
# $$

# %% tags=["hide-input"]
print(inspect.getsource(losses.taylor_cross_entropy))

# %% [markdown]
# What flows through the minimum is easiest seen on one fitted sample: it pulls the lowest
# logit *up*. Without it the gradients of a sample do not add to zero, and every step
# pushes all wrong logits down together, far more than it raises the correct one.

# %%
z = torch.tensor([[8.0, 0.5, 0.0, -0.5, -1.0]], dtype=torch.float64)
print("logits                     " + "".join(f"{v:8.2f}" for v in z[0]) + "     sum")
for words, detach in (("gradient, paper", False), ("gradient, minimum detached", True)):
    leaf = z.clone().requires_grad_()
    losses.taylor_cross_entropy(leaf, torch.tensor([0]), detach_min=detach).backward()
    row = [*leaf.grad[0].tolist(), leaf.grad.sum().item()]
    print(f"{words:<27}" + "".join(f"{v:+8.3f}" for v in row))

# %% tags=["hide-input"]
strengths = {}  # arm of panel (b) -> its strength, weakest first
for arm in mixed.experiment.arms:
    if arm.penalties and mixed.seeds(arm.name):
        strengths[arm.name] = arm.penalties[0].options["strength"]
strengths = dict(sorted(strengths.items(), key=lambda item: item[1]))
taylors = [arm for arm in (TAYLOR, DETACHED) if mixed.seeds(arm)]

blues = plt.get_cmap("Blues")
FULL = (1e-4, 1e-3, 1e-2, 1e-1)
shade = {s: to_hex(blues(0.4 + 0.2 * i)) for i, s in enumerate(FULL)}
curves = []  # record, arm, label, colour, line
for arm, strength in strengths.items():
    curves.append((mixed, arm, f"penalty {strength:g}", shade[strength], "-"))
for arm, label, color in (
    (TAYLOR, "Taylor", plots.RED),
    (DETACHED, "Taylor, detached", plots.ORANGE),
):
    if arm in taylors:
        curves.append((mixed, arm, label, color, "-"))
if has_stable:
    curves.append((tasks, "addition", "StableMax", plots.GREEN, "-"))
if has_exact:
    curves.append((plain, EXACT, "control", plots.BLACK, "-"))


def plain_ticks(axis):
    """1, 2 and 5 times powers of ten as plain numbers on a short logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axis.set_minor_formatter(NullFormatter())


def reaches(record, arm, column="test", share=0.95):
    return claims.first_epoch(record, arm, f"{column}_accuracy", reaches=share)


# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 11. Test loss solid, training loss dashed, each in the loss of its own panel and on logarithmic axes; that of (b) without the penalty. Thick lines are medians over seeds, thin lines single seeds; a line ends where test accuracy has reached 99.5 % or the epochs are over.", "name": "fig-prieto2025-11"}, "image": {"alt": "Three panels of loss against epoch on logarithmic axes, for StableMax, for softmax with a penalty on the logit norm at several strengths, and for Taylor softmax: training loss dashed, test loss solid."}}
figure, panels = plots.panels(3, height=3.9)
drawn = [
    (panels[1], mixed, arm, f"strength {strength:g}", shade[strength])
    for arm, strength in strengths.items()
]
drawn += [
    (panels[2], mixed, arm, label, color)
    for arm, label, color in (
        (TAYLOR, "through the minimum", plots.RED),
        (DETACHED, "minimum detached", plots.ORANGE),
    )
    if arm in taylors
]
if has_stable:
    drawn.append((panels[0], tasks, "addition", "StableMax", plots.GREEN))
for axes, record, arm, label, color in drawn:
    plots.loss(axes, record, arm, color=color, label=label)
for axes in panels:
    axes.set(xscale="log", yscale="log", ylabel="")
    low, high = axes.get_ylim()
    if high < 100 * low:  # hardly a power of ten to label
        plain_ticks(axes.yaxis)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.19))
panels[0].set_ylabel("loss (natural logarithm)")
plots.letter(panels, ["StableMax", "logit-norm penalty", "Taylor softmax"])
figure.show()

# %% [markdown]
# The losses of the panels have different units; accuracies can be compared, among runs
# of one task. The right panel answers which of (b) and (c) is faster, strength by strength.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "(a) Test accuracy of all runs on the task of panels (b) and (c); the control is collapse-free cross-entropy without penalty. (b) Epoch of 95 % test accuracy against the strength of the penalty, one dot per seed, hollow at the last epoch where it is never reached; a line is Taylor softmax, where it gets there.", "name": "fig-prieto2025-11-strength"}, "image": {"alt": "Left: test accuracy against epoch on a logarithmic axis, one curve per penalty strength, others for Taylor softmax, StableMax and the control. Right: epoch of 95 percent test accuracy against penalty strength on logarithmic axes."}}
figure, (left, right) = plots.panels(2, height=3.9)
for record, arm, label, color, line in curves:
    plots.curve(
        left,
        record,
        arm,
        "test_accuracy",
        color=color,
        label=label,
        linestyle=line,
        percent=True,
    )
left.set(xscale="log", xlabel="epoch", ylabel="test accuracy (%)", ylim=(-3, 103))
for arm, strength in strengths.items():
    until = mixed.experiment.arm(arm).epochs
    for epoch in reaches(mixed, arm).values():
        there = math.isfinite(epoch)
        right.plot(
            strength,
            epoch if there else until,
            "o",
            ms=7,
            color=shade[strength],
            mfc=shade[strength] if there else "white",
        )
for fill, words in ((shade[0.01], "penalty"), ("white", "not within the run")):
    right.plot([], [], "o", ms=7, color=shade[0.01], mfc=fill, label=words)
for arm, label, color in (
    (TAYLOR, "Taylor", plots.RED),
    (DETACHED, "Taylor, detached", plots.ORANGE),
):
    times = list(reaches(mixed, arm).values()) if arm in taylors else []
    for number, epoch in enumerate(e for e in times if math.isfinite(e)):
        words = None if number else label
        right.axhline(epoch, color=color, lw=1.3, label=words)
right.set(xscale="log", yscale="log")
right.set(xlabel="strength of the penalty", ylabel="epoch of 95 % test accuracy")
plain_ticks(right.yaxis)
right.xaxis.set_minor_formatter(NullFormatter())
if strengths:
    right.set_xticks([*strengths.values()], [f"{s:g}" for s in strengths.values()])
    right.set_xlim(min(strengths.values()) / 3, max(strengths.values()) * 3)
for axes in (left, right):
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.19), ncol=2)
plots.letter([left, right], ["test accuracy", "who is first"])
figure.show()

# %% [markdown]
# Does the penalty bound the logits, and at the norm that the balance predicts? Taylor
# softmax has no such bound, only a loss that falls slowly.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "(a) Mean L2 norm of the logits on the training set; dotted, the norm at which penalty and loss balance. (b) Mean gap between the two largest logits; dashed, the gaps from which one competitor is absorbed in float32 and float64. Penalties in blue, darker for stronger.", "name": "fig-prieto2025-11-norm"}, "image": {"alt": "Left: mean logit norm against epoch on logarithmic axes with dotted horizontal lines at predicted norms. Right: mean gap between the two largest logits with dashed horizontal lines at 16.6 and 36.7."}}
figure, (left, right) = plots.panels(2, height=3.9)
for axes, column in ((left, "mean_logit_norm"), (right, "mean_gap")):
    for record, arm, label, color, line in curves:
        plots.curve(axes, record, arm, column, color=color, label=label, linestyle=line)
    axes.set(xscale="log", yscale="log", xlabel="epoch")
for strength in strengths.values():
    left.axhline(balance(strength, classes)[1], color=shade[strength], ls=":", lw=1.2)
for bits, words in ((24, "float32"), (53, "float64")):
    edge = bits * math.log(2)
    right.axhline(edge, color=plots.BLACK, ls="--", lw=1)
    place = right.get_yaxis_transform()
    above = (
        {"y": 1.1 * edge, "va": "bottom"}
        if bits > 24
        else {"y": edge / 1.1, "va": "top"}
    )
    right.text(0.01, s=words, transform=place, fontsize=9, **above)
left.set_ylabel("mean logit norm")
right.set_ylabel("mean gap of the logits")
# the first epochs start near zero and would flatten the rest
left.set_ylim(bottom=0.1)
right.set_ylim(bottom=0.01)
handles, labels = left.get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4)
plots.letter([left, right], ["norm", "gap"])
figure.show()

# %% [markdown]
# In numbers, as medians over seeds. "Fit" is the first logged epoch with 99 % training
# accuracy, the collapse is that of a float64 softmax of the same logits.


# %% tags=["hide-input"]
def fit(record, arm):
    return reaches(record, arm, "train", 0.99)


def at_fit(record, arm, column):
    """Value at the fit, infinite where there is none."""
    series = record.series(arm, column)
    return {
        seed: float(series[seed].loc[epoch]) if math.isfinite(epoch) else math.inf
        for seed, epoch in fit(record, arm).items()
    }


def growth(record, arm):
    """Largest mean logit norm from the fit on, over that at the fit."""
    series = record.series(arm, "mean_logit_norm")
    return {
        seed: float(series[seed].loc[epoch:].max() / series[seed].loc[epoch])
        if math.isfinite(epoch)
        else math.inf
        for seed, epoch in fit(record, arm).items()
    }


def middle(values, show="{:,.0f}"):
    return claims.words(claims.median(values), show)


HEAD = [
    "loss",
    "epoch of the fit",
    "of 95 % test",
    "largest test accuracy",
    "logit norm at the end",
    "predicted",
    "largest collapsed share",
]
rows = []
for record, arm, label, _, _ in curves:
    weight = strengths.get(arm) if record is mixed else None
    rows.append(
        [
            label,
            middle(fit(record, arm)),
            middle(reaches(record, arm)),
            middle(claims.largest(record, arm, "test_accuracy"), "{:.1%}"),
            middle(claims.last(record, arm, "mean_logit_norm"), "{:,.3g}"),
            f"{balance(weight, classes)[1]:.3g}" if weight else "—",
            middle(claims.largest(record, arm, "collapse_float64"), "{:.1%}"),
        ]
    )
tables.grid(HEAD, rows)

# %% [markdown]
# ## Check
#
# The paper does not say at which strength; its claims are judged at each of those run
# here, and seed by seed. A dagger marks thresholds that are the replication's own.


# %% tags=["hide-input"]
def ends_low(record, arm):
    """Test loss at the end as a share of its largest value."""
    return claims.combine(
        lambda end, top: end / top,
        claims.last(record, arm, "test_loss"),
        claims.largest(record, arm, "test_loss"),
    )


def lead(record, arm):
    """Epochs by which Taylor reaches 95 % test first, "never" if it never does.

    Where the other never gets there, its last epoch counts: the lead is at least that.
    """
    until = record.experiment.arm(arm).epochs
    return claims.combine(
        lambda taylor, other: (
            min(other, until) - taylor if math.isfinite(taylor) else -math.inf
        ),
        reaches(mixed, TAYLOR),
        reaches(record, arm),
    )


judged = []  # panel, record, arm, words
if has_stable:
    judged.append((tasks, "addition", "(a) StableMax"))
for arm, strength in strengths.items():
    judged.append((mixed, arm, f"(b) penalty {strength:g}"))
if TAYLOR in taylors:
    judged.append((mixed, TAYLOR, "(c) Taylor"))
rows = [
    claims.per_seed(
        record,
        f"{words}: test accuracy reaches 95 % without weight decay (largest)",
        "groks",
        claims.largest(record, arm, "test_accuracy"),
        lambda share: share >= 0.95,
        show="{:.1%}",
        source="4.11",
    )
    for record, arm, words in judged
]
if TAYLOR in taylors and has_stable:
    rows.append(
        claims.per_seed(
            mixed,
            "(c) reaches 95 % test before (a) (epochs ahead, at least)",
            "faster",
            lead(tasks, "addition"),
            lambda epochs: epochs > 0,
            show="{:+,.0f}",
            source="4.11",
        )
    )
if TAYLOR in taylors:
    for arm, strength in strengths.items():
        rows.append(
            claims.per_seed(
                mixed,
                f"(c) reaches 95 % test before (b) with strength {strength:g} "
                "(epochs ahead, at least)",
                "faster",
                lead(mixed, arm),
                lambda epochs: epochs > 0,
                show="{:+,.0f}",
                source="4.11",
            )
        )
rows += [
    claims.per_seed(
        record,
        f"{words}: test loss ends below 10 % of its maximum (share)†",
        "falls",
        ends_low(record, arm),
        lambda share: share < 0.1,
        show="{:.1%}",
        source="4.11",
    )
    for record, arm, words in judged
]
rows += [
    claims.per_seed(
        mixed,
        f"(b) penalty {strength:g}: the mean logit norm stays below 10 times its value "
        "at the fit (largest ratio)†",
        "prevented from growing",
        growth(mixed, arm),
        lambda times: times < 10,
        show="{:.2f}",
        source="4.11",
    )
    for arm, strength in strengths.items()
]

# %% tags=["hide-input"]
if TAYLOR in taylors and strengths:
    times = [reaches(mixed, arm) for arm in strengths]

    def flip(taylor, *penalties):
        """Weakest strength at which the penalty is earlier than Taylor softmax."""
        pairs = zip(strengths.values(), penalties, strict=True)
        return min((s for s, epoch in pairs if epoch < taylor), default=math.inf)

    rows.append(
        claims.extra(
            mixed,
            "(b) weakest strength run here at which the penalty is earlier than Taylor "
            "softmax",
            claims.combine(flip, reaches(mixed, TAYLOR), *times),
            show="{:g}",
        )
    )
rows += [
    claims.extra(mixed, f"(c) {arm}: {words}", values, show=show)
    for arm in taylors
    for words, values, show in (
        ("epoch of 95 % test", reaches(mixed, arm), "{:,.0f}"),
        (
            "growth of the mean logit norm from the fit on (ratio)",
            growth(mixed, arm),
            "{:,.1f}",
        ),
    )
]
for arm, strength in strengths.items():
    rows.append(
        claims.extra(
            mixed,
            f"(b) penalty {strength:g}: mean logit norm at the end over the predicted one",
            claims.combine(
                lambda norm, strength=strength: norm / balance(strength, classes)[1],
                claims.last(mixed, arm, "mean_logit_norm"),
            ),
            show="{:.3f}",
        )
    )
if has_exact:
    until = plain.experiment.arm(EXACT).epochs
    rows.append(
        claims.extra(
            plain,
            f"control, no penalty and no collapse: largest test accuracy to epoch "
            f"{until:,}",
            claims.largest(plain, EXACT, "test_accuracy"),
            show="{:.1%}",
        )
    )
if small.scale != mixed.scale:
    rows += [
        claims.extra(small, f"smaller task, {arm}: {words}", measure(arm), show=show)
        for arm in (TAYLOR, DETACHED, "logit norm 0.01")
        for words, measure, show in (
            ("epoch of 95 % test", lambda arm: reaches(small, arm), "{:,.0f}"),
            (
                "largest training accuracy",
                lambda arm: claims.largest(small, arm, "train_accuracy"),
                "{:.1%}",
            ),
            (
                "mean logit norm at the end",
                lambda arm: claims.last(small, arm, "mean_logit_norm"),
                "{:,.3g}",
            ),
        )
    ]

# %% tags=["hide-input", "nbval-check-output"]
claims.table(rows, page="prieto2025/fig11")

# %% [markdown]
# ## Reading the result
#
# **Is Taylor softmax the fastest?** Not on this task. It leaves the level of a guess
# before the two weaker penalties do, rises so slowly that in the end every run which
# groks is above it, and has little more than half of the test set right when the epochs
# are over. In the right panel of {ref}`the second figure <fig-prieto2025-11-strength>` no
# line is drawn for it. On the smaller task of the last rows, with 70 % of a table of 59
# instead of 40 % of one of 113, it does come first, before the penalty of 0.01 and long
# before StableMax ([Figure 1](fig01_headline.ipynb) has that run). The paper states
# neither task nor strength, and the claim depends on both.
#
# **What does the penalty do?** {ref}`The third figure <fig-prieto2025-11-norm>`
# compares the norm of the logits with the balance. The runs that fit overshoot it, fall
# back and settle on it, sooner under a stronger penalty, and test accuracy rises while
# they fall. Over three decades of strength the predicted norm changes by a factor of
# two only, and the gap stays below the point of {term}`absorption` throughout. So none
# of these runs can collapse, and where they differ in speed and in outcome it is not by
# the amount of collapse. What differs is the pull on the weights: a stronger penalty is
# a larger share of the gradient once the training set is fitted. It acts as a
# regulariser, like {term}`weight decay` on the function instead of on the weights, and
# like weight decay it can be too strong. At 0.01 test accuracy rises first, stops short
# of 90 % and takes tens of thousands of epochs to 95 %, as many as StableMax. At 0.1
# the logits never leave the neighbourhood of zero, far below the balance of a fitted
# sample: most likely because a norm, unlike its square, pulls on a short vector as hard
# as on a long one. That run has no fit for its norm to grow from, and its row counts as
# failed.
#
# **Is it enough to prevent the collapse?** The collapse-free cross-entropy of
# [Figure 1](fig01_headline.ipynb) has the same softmax without a penalty, and its loss
# cannot collapse either. On this task it stays at the level of a guess. Its optimiser
# comes to rest near epoch 9,000, for want of bits in float32, but by then the penalty of
# 0.001 has generalised and that of 0.0001 nearly so. The absence of collapse is not what
# makes the difference.
#
# **The minimum of Taylor softmax.** The construction subtracts the smallest logit, and
# the gradient may flow through it or not. With it the network fits. With the minimum
# taken as a constant, on the smaller task, the logits grow without bound and the network
# learns neither set, as the last rows say. So it is that gradient, not the polynomial, that does
# the work, as the paper suspects in passing. But it is a weak regulariser: on the larger
# task the norm of the logits still grows more than a thousandfold after the fit.
#
# Deviations and ambiguities:
#
# 1. *Optimiser, learning rate, precision, epochs, seeds and strength* are not stated, and
#    no program of this figure was released. The optimiser is that of the released
#    StableMax run. The strengths, 0.0001 to 0.1 at the paper's scale and 0.01 alone at a
#    smaller one, were fixed before the runs.
# 2. *Form of the penalty.* "The norm of the logits" is read as the mean over the samples of
#    the L2 norm of a row. The square of it would weigh large logits more.
# 3. *Minimum or mean.* The construction subtracts the smallest logit; a later sentence of
#    the paper speaks of the mean. The minimum is used here.
# 4. *Panel (a)* is read from the record of Figure 4, at the scale of the others.
# 5. *Losses in (b)* are drawn without the penalty. The paper does not say which it shows.
# 6. *The end.* Runs stop at 99.5 % test accuracy, at a logged epoch, or at epoch 80,000.
#    StableMax goes on to 100,000, where its own sum has begun to absorb
#    ([Figure 4](fig04_stablemax_grokking.ipynb)) and its test loss has risen again.
# 7. *The control* has $\beta_2 = 0.99$, the others 0.999.
# 8. *The minimum as a constant* is an ablation of ours. The table of arms says at which
#    scale it was run.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-11-collapse
# How weak may the penalty be before a float32 softmax can collapse again? Use the balance
# for 113 classes.
# ```
#
# ```{solution} ex-prieto2025-11-collapse
# :class: dropdown
# The gap must reach 16.6, so $\mu \approx (C - 1)\, e^{-16.6}$, a strength of about
# $7 \cdot 10^{-6}$. In float64 the gap is 36.7 and the strength about $10^{-14}$. Between
# those numbers and the weakest strength run here lie the penalties that prevent collapse
# and do next to nothing else; whether they still make the network grok is the cleanest
# test of the paper's explanation. Add `1e-6` to the strengths of `fig11` and run it.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-11-squared
# `losses.logit_norm` also takes `squared=True`. Where do loss and penalty balance then?
# ```
#
# ```{solution} ex-prieto2025-11-squared
# :class: dropdown
# The slope of $\lambda \Delta^2 (1 - 1/C)$ is $2 \lambda \Delta (1 - 1/C)$, so
# $(C - 1)\, e^{-\Delta} \approx 2 \lambda \Delta$ for small $\lambda$. For $\lambda = 0.01$
# and 113 classes this gives a gap of about 6.6, less than the 9.3 of the plain norm, and
# the difference grows with the gap.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-11-sum
# Why do the gradients of Taylor softmax add to zero over the classes if they flow through
# the minimum, and those of StableMax do not?
# ```
#
# ```{solution} ex-prieto2025-11-sum
# :class: dropdown
# Adding one number to all logits changes neither $z - \min z$ nor the loss, and the
# derivative of the loss in that direction is the sum of the gradients. StableMax is not
# invariant to such a shift. With the minimum detached the value is still invariant, but
# what is passed back is no longer the gradient of that value.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
others = () if small.scale == mixed.scale else (small,)
tables.provenance(mixed, tasks, plain, *others)

# %% [markdown]
# The page again from its records: `grokbook execute prieto2025/fig11`. Trained anew with
# fewer epochs, one strength and one seed: `make page PAGE=prieto2025/fig11 SCALE=laptop`.
