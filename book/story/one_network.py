# %% [markdown]
# # [Start here]{.kicker} One network, four papers

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs"
import json

import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run
from grokbook import instability
from grokbook.datasets import modular

plots.use_style()
page = evidence.Page("story/one", scale, retrain, device)
record = page.record("one_network")
first, grown, powers = (
    page.record("basics/grokking"),
    page.record("prieto2025/fig04left"),
    page.record("prieto2025/fig02"),
)
turned, liu, cut = (
    page.record("prieto2025/fig01a"),
    page.record("liu2026/fig01"),
    page.record("liu2026/causal512"),
)
TEST = "test_accuracy"
arms = {
    name: Run(record, name, name)
    for name in ("softmax", "StableMax", "⊥Grad", "weight decay", "activations")
}
p = arms["softmax"].settings.dataset.options["p"]
torch.manual_seed(42)
pair = modular(p=p, train_fraction=0.6).x_train[0]  # an example of the training set


def told(document, row, value, show="{:,.0f}"):
    """A number as a link to its row on the page of a claim."""
    return f"<a href='../{document}.html#claim-{row}'>{show.format(claims.median(value))}</a>"


def moment(name, epoch):
    """The lead of the pair's right answer in score, and the places of the numbers.

    The places are those on the strongest wave of the first layer.
    """
    hidden, *rest = (w.double() for w in record.weights(name, 42, epoch).values())
    a = hidden.T[:p]
    seen = torch.relu(a[pair[0]] + hidden.T[p + pair[1]])
    scores = rest[1] @ torch.relu(rest[0] @ seen)
    k = int(torch.fft.rfft(a, dim=0)[1:].norm(dim=1).argmax()) + 1
    turned = 2 * torch.pi * k * torch.arange(p, dtype=torch.float64) / p
    wave = torch.stack([turned.cos(), turned.sin()], dim=1)
    # Its own share of the plane goes: with it, random weights would lie on a circle too.
    places = a @ (wave.T @ a).T - wave * a.square().sum(dim=1, keepdim=True)
    order = torch.arange(p) * pow(k, -1, p) % p
    is_right = torch.arange(p) == pair.sum() % p
    lead = float(scores[is_right].max() - scores[~is_right].max())
    return lead, (places - places.mean(0))[order]


sheet = claims.read(page.name, {})
sheet.box(
    "A small network learns to add on a clock. It is shown a part of all sums, its examples, "
    "and is asked for the others too. It first learns the examples by heart. Only much later, "
    "or never, does it find the rule and get sums right that it has not seen. Four papers, by "
    "Prieto, Singh, Liu and Tiwari with their co-authors, ask what keeps a network from the "
    "rule.\n\nThis page trains the same network, an MLP of our own, several times from the same "
    "start. Each time it changes something that one of the papers is about, and shows what "
    "happens; Singh's layer norm is not among these changes. It is a tour: each training is "
    "shown once, and no claim is judged here."
)

# %% [markdown]
# ## By heart

# %% tags=["remove-input"]
tables.prose(f"""
The network reads two numbers. It must answer with their sum on a small clock. It sees part of all sums, its examples.
Soon it gets every example right. Of sums that it never saw it gets next to none.

This is learning by heart. In the first chapter the median network without weight decay never has more than
{told("basics/grokking", "without", Run(first, "no decay").largest(TEST), "{:.1%}")} of the unseen sums right. {{term}}`Grokking` means that the rule arrives after all, and late.
""")


# %% tags=["hide-input"]
#| name: fig-story-1
#| caption: >
#|   At epoch 100, marked by the black line, all examples are right and hardly any unseen sum
#|   is. The curves show the whole training. (a) Share of right answers, on the examples (blue,
#|   dashed) and on unseen sums (green). Red is the share of examples whose loss is exactly
#|   zero. (b) The training loss. (c) How the first layer holds the numbers at epoch 100. Each
#|   dot is a number of the clock, and a line joins neighbours on the clock. Here they are a
#|   tangle. The lead below it says how far the score of the right answer is ahead of the next,
#|   in one example.
#| alt: >
#|   The dashed line is at 100 percent at the mark, the solid line near 0. The loss has begun
#|   to fall. The numbers form a tangle.
#| fold: "Code: draw the figure"
QUANTITIES = (  # column, words, colour, line: as in the moving figure
    ("train_accuracy", "examples", plots.BLUE, "--"),
    (TEST, "unseen sums", plots.GREEN, "-"),
    ("zero_loss", "losses at zero", plots.RED, "-"),
)


def draw(name, epoch):
    """The moment of a run: right answers, training loss, the ring of the numbers."""
    run, (lead, places) = arms[name], moment(name, epoch)
    ratios = {"width_ratios": (1.2, 1.2, 0.8)}
    figure, (answers, loss, ring) = plots.panels(3, height=1.8, gridspec_kw=ratios)
    figure.set_figwidth(6.8)  # six of them on a page
    often = [t for t in run.series(TEST).index if t <= 500 or t % 100 == 0]
    for column, label, color, style in QUANTITIES:
        answers.plot(
            100 * run.series(column).loc[often], style, color=color, label=label, lw=1.4
        )
    loss.plot(
        run.series("train_loss").loc[often].clip(lower=1e-12), color=plots.ORANGE, lw=1
    )
    for axes in (answers, loss):
        axes.axvline(epoch, color=plots.BLACK, lw=1)
        axes.set_xscale("symlog", linthresh=10)
        axes.set(xlim=(0, 8000), xlabel="epoch")
        axes.grid(False)
    answers.set(ylabel="share (%)")
    loss.set(yscale="log", ylabel="loss", ylim=(5e-13, 10))
    ring.plot(*torch.cat([places, places[:1]]).T, ".-", color=plots.BLACK, lw=0.7)
    size = 1.1 * float(places.abs().max())
    ring.set(xlim=(-size, size), ylim=(-size, size), aspect="equal")
    ring.set(xticks=[], yticks=[], ylabel="first layer")
    if lead > 1e6:
        ring.set(xlabel=f"lead: {lead / 1e6:,.0f} million")
    else:
        ring.set(xlabel=f"lead: {lead:,.0f}" if lead > 99 else f"lead: {lead:.1f}")
    if (name, epoch) == ("softmax", 100):  # the captions of the others name the colours
        figure.legend(loc="outside upper center", ncols=3)
    plots.letter([answers, loss, ring], ["right answers", "training loss", "numbers"])
    return plots.show(figure)


draw("softmax", 100)

# %% [markdown]
# ## The scores grow

# %% tags=["remove-input"]
tables.prose("""
For each answer the network gives a score, a {term}`logit`. The highest score wins. All examples already win, yet training goes on. The
easiest way to a smaller loss is to make all scores larger. The answers stay the same.
""")

# %% [markdown]
# ## The loss becomes zero

# %% tags=["remove-input"]
tables.prose(f"""
A computer has few digits. Once the lead is large enough, it rounds the loss of an example to exactly zero. Prieto et al. call this
{{term}}`softmax collapse`. In their setting half of the examples are rounded by epoch
{told("prieto2025/fig02_softmax_collapse", "order-60", Run(powers, "60% float32").first("collapse_float32", above=0.5))}.
A loss of zero gives its right answer nothing more to learn. Whether this alone stops the rule is open.
""")

# %% tags=["hide-input"]
#| name: fig-story-2
#| caption: >
#|   At epoch 500, marked by the black line, more than half of the losses are exactly zero
#|   (red), and the unseen sums stay wrong (green). The panels are those of the first figure.
#| alt: >
#|   The red line has passed one half at the mark, while the solid line stays near 0.
#| fold: "Code: draw the figure"
draw("softmax", 500)

# %% [markdown]
# ## A softmax that does not round

# %% tags=["remove-input"]
tables.prose(f"""
{{term}}`StableMax` takes the place of the function that turns scores into a loss. It rounds much later, and its loss also has more digits here. The
network finds most of the rule without {{term}}`weight decay`. In Prieto's setting it needs
{told("prieto2025/fig01_headline", "half", Run(grown, "addition").reaches(accuracy=0.5))} epochs for half of the unseen sums.
""")

# %% tags=["hide-input"]
#| name: fig-story-3
#| caption: >
#|   With StableMax no loss is exactly zero (red), and the unseen sums follow slowly (green),
#|   until the end at epoch 8,000. A loss below 1e-12 is drawn at 1e-12 in (b).
#| alt: >
#|   The solid line climbs slowly to above 90 percent; the red line stays at 0.
#| fold: "Code: draw the figure"
draw("StableMax", 8000)

# %% [markdown]
# ## A step that may not only stretch

# %% tags=["remove-input"]
tables.prose(f"""
Longer weights mean larger scores. {{term}}`⊥Grad <orthogonal gradient>` removes this part of each step. The network must turn instead of stretching. In Prieto's setting
it knows the rule by epoch {told("prieto2025/fig01_headline", "ortho-by", Run(turned, "⊥AdamW, softmax, as run").reaches(accuracy=0.95))}.
Learning by heart and the rule arrive together.
""")

# %% tags=["hide-input"]
#| name: fig-story-4
#| caption: >
#|   With ⊥Grad the examples (blue) and the unseen sums (green) rise together. At epoch 100,
#|   marked by the black line, the numbers lie on a circle (c).
#| alt: >
#|   Dashed and solid lines reach 100 percent together before the mark.
#| fold: "Code: draw the figure"
draw("⊥Grad", 100)

# %% [markdown]
# ## Small weights, small activations

# %% tags=["remove-input"]
tables.prose(f"""
Weight decay pulls every weight towards zero, so a long list of answers is costly. In the first chapter
{told("basics/grokking", "end", Run(first, "decay 1").last(TEST), "{:.1%}")} of the unseen sums are right in the end. A penalty on activations, the numbers inside
the network, brings the rule here too, but does not keep it: the network falls back again and again, and is below its best at the
end. Tiwari et al. pull activations towards one length. In our runs that does not bring the rule as early as they say:
[the result](../tiwari2026/fig01_accuracy_curves.ipynb). Singh et al. show that the place of a {{term}}`layer norm` matters too.
""")

# %% tags=["hide-input"]
#| name: fig-story-5
#| caption: >
#|   With weight decay the unseen sums (green) follow the examples (blue). At epoch 1,000,
#|   marked by the black line, the numbers lie near a circle (c).
#| alt: >
#|   The solid line reaches 100 percent before the mark. The numbers lie near a circle.
#| fold: "Code: draw the figure"
draw("weight decay", 1000)

# %% [markdown]
# ## The long run: sudden jumps

# %% tags=["remove-input"]
tables.prose(f"""
Train the first network on. Its loss is nearly zero, then jumps, again and again. These are {{term}}`slingshots <slingshot>`. Liu et al. blame the rounding.
In their network there are {told("liu2026/fig01_precision", "float32", instability.slingshots(Run(liu, "float32")))} jumps. With a more precise loss there are
{told("liu2026/fig01_precision", "float64-loss", instability.slingshots(Run(liu, "float64 loss")))}.
""")

# %% tags=["hide-input"]
#| name: fig-story-6
#| caption: >
#|   Long after all examples are right, the training loss of the first network (orange) jumps,
#|   and right answers break down for a moment. The black line marks epoch 4,000.
#| alt: >
#|   Along the solid line near 0 the dashed line drops several times, as the loss jumps up.
#| fold: "Code: draw the figure"
draw("softmax", 4000)

# %% [markdown]
# ## What we do not know

# %% tags=["remove-input"]
tables.prose(f"""
Rounding does two things to what a network learns from, and Liu et al. blame one. With their repair of that one
{told("liu2026/causes", "projection", instability.slingshots(Run(cut, "projection")))} jumps remain. We do not know whether one cause lies behind both the wait and the jumps.
The [ten questions](../questions/q01_wait.ipynb) say what would decide it.
""")

# %% [markdown]
# ## What was run
#
# One small network with two hidden layers and one seed, with the same start and examples in every picture. Read it as a film,
# and the linked rows as the evidence. Each number has its place in the plane that the other numbers give to the strongest wave
# of the first layer. The line joins them as the wave turns.


# %% tags=["remove-input"]
def data(name):
    """Curves in per mille and tenths of a decade; at the epochs whose weights were kept the
    places of the numbers, and the lead of a right answer in score."""
    run = arms[name]
    looks = {
        c: run.series(c).iloc[::2, 0]
        for c in ("train_accuracy", TEST, "zero_loss", "train_loss")
    }
    curves = {
        c: (1000 * v).round().astype(int).tolist()
        for c, v in looks.items()
        if c != "train_loss"
    }
    curves["loss"] = (
        (
            10
            * looks["train_loss"]
            .clip(lower=1e-12)
            .map(torch.tensor)
            .map(torch.log10)
            .map(float)
        )
        .round()
        .astype(int)
        .tolist()
    )
    frames = {}
    for epoch in run.settings.keep:
        lead, places = moment(name, epoch)
        spread = (100 * places / places.abs().max()).round().int()
        frames[epoch] = [spread.flatten().tolist(), round(lead, 1)]
    return curves | {"epochs": looks[TEST].index.tolist(), "frames": frames}


STEPS = [
    ("softmax", 100),
    ("softmax", 300),
    ("softmax", 500),
    ("StableMax", 8000),
    ("⊥Grad", 100),
    ("weight decay", 1000),
    ("softmax", 4000),
]
told_data = json.dumps(
    {
        "steps": STEPS,
        "arms": {n: data(n) for n in dict(STEPS)},
    },
    separators=(",", ":"),
)
tables.Html(
    f"<script type='application/json' id='story'>{told_data}</script>",
    "the data of the moving figure",
)

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(record, first, grown, powers, turned, liu, cut)

# %% [markdown]
# ## Run it yourself
#
# Five networks of 8,000 epochs, in about ten minutes on two cores:
#
# ```bash
# make page PAGE=story/one SCALE=laptop
# ```
#
# <link rel="stylesheet" href="../explore/story.css">
# <script defer src="../explore/parts.js"></script>
# <script defer src="../explore/story.js"></script>
