# %% [markdown]
# # [Question]{.kicker} Which learning rate, which decay?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np
from pandas import concat

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q04", scale, retrain, device)
small = evidence.Page(page.name, "laptop")  # stored: only smaller networks were tuned
SINGH, NORM, FEWER = "Singh's transformer", "with a layer norm", "with fewer pairs"
PRIETO, OTHER, TIWARI = "Prieto's MLP", "Prieto's transformer", "Tiwari's MLP"
RECORDS = [
    (SINGH, "singh2026/fig04lr"),
    (SINGH, "singh2026/fig04wd"),
    (NORM, "singh2026/fig02"),
    (PRIETO, "prieto2025/fig15"),
]
RECORDS += [
    (PRIETO, "prieto2025/fig15slow"),
    (FEWER, "prieto2025/fig06c"),
    (OTHER, "prieto2025/fig06a"),
    (TIWARI, "tiwari2026/tuned"),
]
RECORDS = [
    (network, (small if network == TIWARI else page).record(name))
    for network, name in RECORDS
]
MARKS = {
    SINGH: ("No LN", "o"),
    NORM: ("M", "o"),
    PRIETO: ("MLP", "s"),
    FEWER: ("MLP", "v"),
    OTHER: ("transformer", "P"),
}
MARKS[TIWARI] = "strong decay", "^"


def chosen(run):
    """Learning rate, and weight decay."""
    return tuple(run.settings.optimizer.options[key] for key in ("lr", "weight_decay"))


runs = [
    Run(record, arm.name, network)
    for network, record in RECORDS
    for arm in record.experiment.arms
]
runs = [
    run
    for run in runs
    if run.seeds
    and chosen(run)[1]
    and not (run.settings.wrappers or run.settings.penalties)
]
# of the norms, one; and "No LN" is in both of Singh's sweeps
runs = [
    r
    for r in runs
    if (r.label != NORM or r.arm == "M")
    and (r.record.name, r.arm) != ("singh2026/fig04wd", "No LN")
]
when = {
    r: r.reaches(loss=0.01) if r.label in (SINGH, NORM) else r.reaches(accuracy=0.95)
    for r in runs
}
product = {run: np.prod(chosen(run)) for run in runs}
paced = {run: (when[run] * product[run])[np.isfinite(when[run])] for run in runs}
MOST = 0.05
pace = {
    n: concat(
        [paced[r] for r in runs if r.label == n and product[r] <= MOST]
    ).reset_index(drop=True)
    for n in MARKS
}
both = concat([pace[SINGH], pace[PRIETO]])
tried = [run for run in runs if run.label in (SINGH, PRIETO) and product[run] <= MOST]
swept = [product[run] for run in tried if len(paced[run])]
missing = sum(int(np.isinf(when[run]).sum()) for run in tried)


def fitted(network):
    """Slope and height of the line through log epoch over log product, of the seeds that get there."""
    mine = [run for run in tried if run.label == network]
    epochs = np.concatenate([when[run][np.isfinite(when[run])] for run in mine])
    places = np.concatenate([[product[run]] * len(paced[run]) for run in mine])
    return np.polyfit(np.log10(places), np.log10(epochs), 1)


lines = {network: fitted(network) for network in (SINGH, PRIETO)}
faster = {
    network: 10**-slope for network, (slope, _) in lines.items()
}  # for ten times the product
sheet = claims.read(page.name, {})
sheet.box(
    f"Raise their product. Ten times the product brought the rule {faster[SINGH]:.1f} times as early in a transformer and "
    f"{faster[PRIETO]:.1f} times in an MLP, up to a product of {MOST:g}. The epoch itself depends on the network and its data."
)

# %% tags=["hide-input"]
#| name: fig-questions-04
#| caption: >
#|   The product of learning rate and weight decay sets the pace, more in one network than in another. One mark a
#|   seed. (a) The first epoch with a test loss of 0.01 for Singh's networks, else with 95 % of the test set; some
#|   networks lose it again. Solid lines: fitted to two of the networks up to a product of 0.05; written beside them,
#|   how many times as early ten times the product brings it. Grey lines: 1 and 10 divided by the product. Diamonds: the mean of
#|   Singh's five seeds. (b) Prieto's MLP at the three rates written at its curves: stronger decay delays the fit,
#|   99 % of the training set (hollow), until both meet. Medians joined.
#| alt: >
#|   Left: over three powers of ten marks of five networks fall along parallel lines, most between
#|   the two grey ones, and bend away from them above a product of 0.05. Right: three pairs of
#|   curves. The epoch of generalising falls with decay, that of the fit rises, and they come close
#|   at a decay of 4 to 8.
#| fold: "Code: draw the figure"
figure, (line, fit) = plots.panels(2, height=3.9)
ends = np.array([2e-4, 0.5])
for ticks, name in ((1, "1"), (10, "10")):
    line.plot(ends, ticks / ends, color=plots.GREY, lw=1, ls=":")
    line.text(0.0003, 1.25 * ticks / 0.0003, name, color=plots.GREY)
span = np.array([min(swept), MOST])
line.text(0.4, 3.4e4, "ten times the product", ha="right")
for y, (network, (slope, height)) in zip((1.8e4, 1e4), lines.items(), strict=True):
    color = plots.COLOUR[MARKS[network][0]]
    line.plot(span, 10**height * span**slope, color=color, lw=1.2)
    line.text(0.4, y, f"{network}: {faster[network]:.1f}×", ha="right", color=color)
for network, (color, marker) in MARKS.items():
    mine = [run for run in runs if run.label == network]
    x, y = (
        [v for run in mine for v in of[run]]
        for of in ({r: [product[r]] * len(when[r]) for r in mine}, when)
    )
    line.plot(
        x,
        y,
        marker,
        ms=5,
        mec="white",
        mew=0.5,
        color=plots.COLOUR[color],
        label=network,
    )
theirs = concat(
    [evidence.reference(f"singh2026/fig04{kind}_events") for kind in ("lr", "wd")]
)
theirs = (
    theirs.query("quantity == 'test_loss at most' and value == 0.01 and stat == 'mean'")
    .drop_duplicates("series")
    .set_index("series")
    .epoch
)
of_arm = {
    run.arm: product[run] for run in runs if run.label == SINGH and run.arm in theirs
}
plots.paper(line, list(of_arm.values()), theirs[list(of_arm)])
line.set(
    xscale="log",
    yscale="log",
    xlim=(2e-4, 0.5),
    ylim=(60, 7e4),
    xlabel="rate × decay",
    ylabel="first epoch with the rule",
)
rates = sorted({chosen(run)[0] for run in runs if run.label == PRIETO})
for rate, color in plots.shades(rates).items():
    mine = sorted(
        (
            r
            for r in runs
            if r.label == PRIETO and chosen(r)[0] == rate and len(paced[r]) > 2
        ),
        key=chosen,
    )
    x = [chosen(run)[1] for run in mine]
    fit.plot(x, [claims.median(when[run]) for run in mine], "o-", color=color)
    fit.text(
        x[0] - 0.2,
        claims.median(when[mine[0]]),
        f"rate {rate:g}",
        color=color,
        ha="right",
        va="center",
    )
    fit.plot(
        x,
        [claims.median(run.fitted(accuracy=0.99)) for run in mine],
        "o--",
        mfc="white",
        color=color,
    )
fit.set(
    yscale="log",
    xlim=(-2.2, 8.4),
    xticks=range(0, 9, 2),
    ylim=(20, 6000),
    xlabel="weight decay",
    ylabel="epoch",
)
line.plot([], [], "o--", color=plots.GREY, mfc="white", label="fits (b)")
figure.legend(*line.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter((line, fit), ["the product sets the pace", "three rates, stronger decay"])
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# AdamW shortens every weight by the share rate × decay in each step. A network that fits its
# training set early then waits until the weights with which it memorised have shrunk. So the
# natural unit of time is 1 / (rate × decay), and {term}`weight decay` is a clock.

# %% tags=["remove-input"]
of = {(run.label, *(round(v, 4) for v in chosen(run))): run for run in runs}
slow, fast, gentle = (of[SINGH, *at] for at in ((0.001, 1.0), (0.01, 1.0), (0.01, 0.1)))
weak, firm = (of[PRIETO, 0.001, decay] for decay in (1.0, 8.0))
best, four, eight = (of[PRIETO, 0.05, decay] for decay in (2.0, 4.0, 8.0))
mnist = page.record("prieto2025/fig14")
tenth, whole = (Run(mnist, f"decay {d}") for d in ("0.1", "1"))
tables.prose(f"""
**The clock nearly holds in a transformer.** In [Singh's](../singh2026/fig04_rate_and_decay.ipynb) a tenfold rate at the
same decay brings the first test loss of 0.01 from epoch {told(when[slow])} to {told(when[fast])}. The larger rate is thrown back later: {told(fast.falls_back(loss=0.01), "{:.0%}")} of
its later logs are above. **It holds less in an MLP.** In [Prieto's](../prieto2025/fig15_weight_decay.ipynb), at a rate of 0.001, a decay of
1 takes {told(paced[weak], "{:.1f}")} units of the clock and one of 8 {told(paced[firm], "{:.1f}")}: eight times the decay is less than eight times
as fast. Over both networks the product grows {max(swept) / min(swept):.0f}-fold, and the latest seed takes {both.max() / both.min():.0f} times as many units as the
earliest, between {both.min():.1f} and {both.max():.1f}. The training of {missing} of {missing + len(both)} seeds ended first, and these are not counted. A decay of 0.1 at a rate of 0.001 is too weak for
{slow.settings.epochs:,} epochs, which are {slow.settings.epochs * 1e-4:.0f} unit of its clock.

**At the same product the larger rate is ahead.** Singh's official scripts keep it at 0.001. A rate of 0.01 then needs
{told(paced[gentle], "{:.1f}")} units, a rate of 0.001 {told(paced[slow], "{:.1f}")}. The largest is ahead of the smallest in every
seed, and steps between are not always in order.

**There is a limit.** At a rate of 0.05 Prieto's MLP needs {told(when[best])} epochs with decay 2 and {told(when[four])} with
decay 4. With decay 8 it ends with {told(eight.last("train_accuracy"), "{:.0%}")} of its
training set. Panel (b) shows why: decay delays the fit itself, and generalisation cannot come before it.

**The network and its data set the number.** The table has the same unit for others. With a {{term}}`layer norm` before the MLP Singh's
network first gets there after {told(pace[NORM], "{:.1f}")} units, and is [thrown back](q05_layer_norm.ipynb). With 30 % of the pairs instead of 40 % the MLP needs {told(pace[FEWER], "{:.1f}")}, against
{told(paced[of[PRIETO, 0.01, 1.0]], "{:.1f}")} at the same rate and decay. On
[MNIST](../prieto2025/fig14_mnist.ipynb), with hundredfold starting weights, ten times the decay hardly matters: test accuracy ends at
{told(tenth.last("test_accuracy"), "{:.0%}")} with decay 0.1 and at {told(whole.last("test_accuracy"), "{:.0%}")} with 1.

**In practice:** take the largest rate at which the network still fits at once. Then raise decay until the fit begins to be late.
""")

# %% tags=["remove-input"]
rows = [
    [network, told(pace[network], "{:.1f}"), f"{len(pace[network])}"]
    for network in MARKS
]
tables.grid(
    ["Network", "First epoch with the rule × rate × decay", "Runs"],
    rows,
    caption=f"Runs that get there, with a product of at most {MOST:g}",
)

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q04.md
# ```
#
# ## What would change our mind
#
# * Weak decay, trained long enough. Singh's λ = 0.1 should generalise between epoch 20,000 and 110,000, and no run is
#   that long. Two seeds of the rates at fixed decay are missing too: `grokbook run singh2026/fig04lr --scale paper --record`.
# * The same sweep under SGD with decay. All runs here use AdamW, whose decay is separate from the gradient.
# * The sweep at other shares of training pairs. Six cells of
#   [Tiwari's table](../tiwari2026/tab06_modulus_and_fraction.ipynb) would do, with a decay of 1 in place of 0.1.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(*(record for _, record in RECORDS), mnist)
