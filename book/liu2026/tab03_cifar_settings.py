# %% [markdown]
# # [Liu et al. 2026 · Table 3]{.kicker} The paper does not say how many CIFAR-10 images it trains on

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the networks of Table 3, their cost, the list of settings, the claims"
from textwrap import shorten

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from claimbook import claims, papers, plots, tables
from claimbook.names import options, resolve
from grokbook import theory

plots.use_style()
ETA, EPS, EPOCHS = 1e-3, 1e-8, 10_000  # the paper's numbers
SIZES = (200, 2000, 20_000, 50_000)  # of Appendix B.2.7
PEAK = 1.05e14  # float32 operations a second that NVIDIA gives for an RTX 5090
HOUR = 3600
COLLAPSED = 2.0**-23  # residual mass at which the paper lets a sample collapse
NETWORKS = {"MLP": "fig01", "VGG-11": "fig10", "ResNet-18": "fig13", "ViT": "fig12"}
built = {}
for name, experiment in NETWORKS.items():
    arm = papers.get(f"liu2026/{experiment}", "paper").arm("float32")
    torch.manual_seed(42)
    built[name] = resolve("model", arm.model)(**options(arm.model))
count = {name: sum(w.numel() for w in net.parameters()) for name, net in built.items()}


def operations(network):
    """Of a forward and a backward pass, for one image."""
    with FlopCounterMode(display=False) as counter:
        network.eval()(torch.zeros(1, 3, 32, 32))
    return 3 * counter.get_total_flops()


cost = {name: operations(network) for name, network in built.items()}
hours = {
    (name, n): cost[name] * n * EPOCHS / PEAK / HOUR for name in built for n in SIZES
}
OURS = {name: 2000 if name == "ViT" else 200 for name in built}  # inferred numbers
SETTINGS = tables.stated("liu2026/tab03")
stated = [words != "" for _, words, _, _ in SETTINGS]
quick = {name: cost[name] * n * EPOCHS / PEAK for name, n in OURS.items()}
gradients = {n: COLLAPSED / n for n in SIZES}
rates = {n: ETA / (gradients[n] + EPS) for n in SIZES}
given = [True]  # what is beyond the paper has nothing to agree with
found = {
    "settings": claims.exactly(f"{sum(stated)} of {len(SETTINGS)}", stated),
    "vit": claims.exactly(f"{count['ViT']:,}", [abs(count["ViT"] / 10e6 - 1) <= 0.1]),
    "hour": claims.exactly(
        "; ".join(f"{name}: {x:,.1f} s" for name, x in quick.items()),
        [x <= HOUR for x in quick.values()],
    ),
    "rate": claims.exactly(
        "; ".join(f"{n:,}: {rate:,.0f}" for n, rate in rates.items()),
        [rate >= 5e4 for rate in rates.values()],
    ),
    "size": {
        name: claims.exactly(f"{count[name]:,}, {cost[name] / 1e9:.2f} billion", given)
        for name in built
    },
    "all-images": claims.exactly(
        "; ".join(f"{name}: {hours[name, 50_000]:,.1f} h" for name in built), given
    ),
    "gradient": claims.exactly(
        "; ".join(f"{n:,}: {gradients[n]:.0e}".replace("e-0", "e-") for n in SIZES),
        given,
    ),
}
sheet = claims.read("liu2026/tab03", found)
sheet.box(
    "The paper says that its appendix has detailed hyperparameters. To repeat its runs on "
    f"CIFAR-10 images, one needs {len(SETTINGS)} settings by our list, and the paper states "
    f"{sum(stated)} of them. So the sentence is true in part.\n\nThe most important setting that "
    "is missing is the number of training images: it decides what a run costs, and how much a "
    "single image counts in the gradient. For runs of full size we take 200, as an earlier paper on loss spikes "
    "does, and 2,000 for the vision transformer (ViT). Nothing is trained on this page."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-tab03
#| caption: >
#|   The paper states most settings that a run on CIFAR-10 needs, but not the number of training
#|   images. Each line is one setting, or a few that belong together. Blue squares: the paper
#|   states it, or most of it, in short. Red crosses: the paper does not state it, and the words
#|   in red are our choice.
#| alt: >
#|   A list of 28 settings in two columns. Those of the optimiser have a square. Crosses are
#|   at the number of training images and their choice, at biases, hidden units of the
#|   ViT, initial weights, precision of products, and the network of Figures 1, 3a, 4 and 6.
#| fold: "Code: draw the list of settings"
LEGEND = (
    ("s", plots.BLUE, f"paper, {sum(stated)} of {len(SETTINGS)}"),
    ("x", plots.RED, f"missing, {len(SETTINGS) - sum(stated)}"),
)


def kind(row):
    """Sign, colour and words of a setting: the paper's, or ours where it has none."""
    _, words, _, here = row
    if words:
        return "s", plots.BLUE, words
    return "x", plots.RED, here


figure, axes = plots.panels(2, height=3.8)
half = (len(SETTINGS) + 1) // 2
for panel, rows_of in zip(axes, (SETTINGS[:half], SETTINGS[half:]), strict=True):
    for y, row in enumerate(rows_of):
        sign, color, words = kind(row)
        words = shorten(words, 54 - len(row[0]), placeholder=" …")
        panel.plot(0, y, sign, color=color, ms=6, mew=2)
        panel.text(0.03, y, row[0], va="center", fontsize=9)
        panel.text(1, y, words, va="center", ha="right", color=color, fontsize=9)
    panel.set(xlim=(-0.02, 1), ylim=(half - 0.5, -0.5))
    panel.axis("off")
for sign, color, words in LEGEND:
    axes[0].plot([], [], sign, color=color, label=words, ms=6, mew=2)
figure.legend(loc="outside upper left")
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
largest = {name: PEAK * HOUR / EPOCHS / cost[name] for name in built}
tables.prose(f"""
* **Optimiser and architectures are stated.** Anyone can rebuild the networks: the ViT has {count["ViT"] / 1e6:.1f} million
  weights, and the paper says about 10 million.
* **The images are not.** An appendix on dataset size names numbers from {SIZES[0]} to {SIZES[-1]:,}, and the paper does
  not say which one its figures have.
* **The paper's hour excludes all images** for most networks. Even at the peak of the paper's card, the ViT can train on
  {largest["ViT"]:,.0f} images at most in this time.
""")

# %% [markdown]
# ## The idea
#
# Let one of $N$ samples be just at the threshold of collapse, with {term}`residual mass`
# $\epsilon$, and let all others be collapsed. In the mean loss its gradient at the correct
# {term}`logit` is $\epsilon / N$. If this gradient stays, Adam moves by
#
# $$
# \Delta = \eta\, \frac{\epsilon / N}{\epsilon / N + \varepsilon} .
# $$
#
# For $\epsilon / N \gg \varepsilon$ this step is the learning rate, whatever $N$. For
# $\epsilon / N \ll \varepsilon$ it is $\eta \epsilon / N \varepsilon$, and falls with $N$. So
# Adam ignores the scale of a gradient only above its $\varepsilon$.

# %% tags=["hide-input"]
#| name: fig-liu2026-tab03-images
#| caption: >
#|   The missing number of images decides how Adam steps and what a run costs. (a) Gradient at a
#|   logit of one sample at the threshold of collapse, in the mean loss over all images. Marks:
#|   the four numbers of the paper's appendix. (b) Hours of 10,000 epochs if an RTX 5090 worked
#|   at its peak of float32. Dashed: the hour that the paper reports.
#| alt: >
#|   Left: a falling line on logarithmic axes that is already 17 times below Adam's epsilon at
#|   200 images and 4,000 times at 50,000. Right: rising lines of four networks; the MLP stays
#|   below one hour, VGG-11 crosses it near 40,000 images, ResNet-18 near 11,000 and the ViT
#|   near 10,000.
#| fold: "Code: draw gradient and cost"
figure, (slope, time) = plots.panels(2, height=3.6)
many = np.geomspace(100, 5e4, 60)
slope.plot(many, COLLAPSED / many, color=plots.BLACK)
slope.plot(SIZES, [gradients[n] for n in SIZES], "o", color=plots.BLACK, ms=6)
slope.axhline(EPS, color=plots.GREY, ls="--", lw=1)
slope.text(5e4, EPS * 1.25, "Adam's ε", color=plots.GREY, ha="right")
for name in built:
    line = cost[name] * many * EPOCHS / PEAK / HOUR
    time.plot(many, line, color=plots.COLOUR[name], label=name)
time.axhline(1, color=plots.GREY, ls="--", lw=1)
time.text(110, 1.25, "an hour", color=plots.GREY)
for panel in (slope, time):
    panel.set(xscale="log", yscale="log", xlabel="training images", xlim=(90, 6e4))
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
slope.set_ylabel("gradient at a logit")
time.set(ylabel="hours of 10,000 epochs", ylim=(1e-5, 30))
figure.legend(*time.get_legend_handles_labels(), loc="outside upper center", ncols=4)
plots.letter([slope, time], ["one sample's gradient", "cost"])
plots.show(figure)

# %% [markdown]
# As code:


# %%
def update(samples, residual=2.0**-23, eta=1e-3, eps=1e-8):
    """Adam's step for a constant gradient of one of so many samples."""
    gradient = residual / samples
    return eta * gradient / (gradient + eps)


for n in (200, 2000, 20_000, 50_000):
    exact = theory.adam_update([(2.0**-23 / n, 1_000_000)], 1e-3, (0.9, 0.95), 1e-8)
    assert abs(exact / update(n) - 1) < 1e-6
    print(f"{n:6,} images: {update(n):.1e}")

# %% [markdown]
# At a weight of the {term}`head` the gradient is larger by a factor, an entry of the features,
# which may be some tens. Many samples may leave the collapse at once, too. Both move the bend,
# and neither removes it.

# %% tags=["hide-input"]
#| fold: "Code: the table of settings"
tables.folded(
    f"All {len(SETTINGS)} settings, where the paper has them, and what was run here",
    ["Setting", "Paper", "Where", "Here"],
    [[name, words or "not stated", at, here] for name, words, at, here in SETTINGS],
)

# %% [markdown]
# ## The claims
#
# Nothing is trained here, so there are no seeds: *n* counts settings, networks or numbers. The
# list of settings is ours. Another author would make it a few lines longer or shorter.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing()

# %% [markdown]
# ## What was run
#
# The code that trains the networks built them, at the paper's size. Where the table leaves a
# choice, we chose:
#
# 1. *Training images.* 200, drawn by the seed and not balanced over classes. The learning
#    rate, both $\beta$ and the missing weight decay are those of {cite:t}`thilak2022`, who have
#    200 images. The ViT has 2,000: a batch of 2,048 is then the whole set.
# 2. *Biases* in all layers of the MLP, as the paper says of its other MLP.
# 3. *VGG-11.* Eight convolutions and five poolings leave one place of 512 channels, so that
#    the head is one layer. The usual head has three, and the paper's words exclude it.
# 4. *ViT.* Hidden layers four times the width, a class token, and {term}`layer norm` before
#    each part and before the head.
# 5. *Cost.* Three times the operations of a forward pass. NVIDIA gives the peak of 105 TFLOP/s for
#    float32 without shortcuts, and no real training reaches it.

# %% [markdown]
# ## Reading the result
#
# **What the table leaves open** changes when spikes begin, and whether one can compare them. A mean over
# 200 images and a mean over 50,000 give Adam gradients that differ 250-fold. Both are below its
# $\varepsilon$, where its step is proportional to the gradient.
#
# **"Independent of the dataset size."** The appendix says so of spikes. By this arithmetic their
# onset should depend on it: with 50,000 images more samples have to leave the collapse together,
# or their features have to be larger. [Figure 9](fig09_cifar_mlp.ipynb) has it planned, and
# not trained yet.
#
# **The hour cannot be that of all images.** For every network but the MLP, 10,000 epochs of 50,000
# images take longer than an hour even at the card's peak. The measurements above list the
# hours. So "Full Batch" must have meant fewer images for most networks.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-tab03-bend
# At how many images is the gradient of one sample at the threshold equal to Adam's
# $\varepsilon$? The paper uses $\varepsilon = 10^{-5}$ against spikes. At how many is it then?
# ```
#
# ````{solution} ex-liu2026-tab03-bend
# :class: dropdown
# ```python
# for eps in (1e-8, 1e-6, 1e-5):
#     print(f"ε = {eps:g}: {2.0**-23 / eps:.2f} images")
# ```
#
# At twelve. With the larger values even a single image is below, and only features of a norm of
# 100 could make up for it.
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab03-count
# Count the parameters of the MLP by hand. Which share of them reads pixels?
# ```
#
# ````{solution} ex-liu2026-tab03-count
# :class: dropdown
# Six layers, each with weights and biases:
#
# ```python
# sizes = [3072, 512, 512, 512, 512, 512, 10]
# each = [a * b + b for a, b in zip(sizes, sizes[1:])]
# print(f"{sum(each):,}, of which {each[0] / sum(each):.0%} in the first")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab03-sum
# Sum the loss over images instead of averaging it. Would spikes then be independent of their
# number?
# ```
#
# ```{solution} ex-liu2026-tab03-sum
# :class: dropdown
# One sample's gradient would be $\epsilon = 1.2 \times 10^{-7}$ for any number of images, twelve
# times Adam's $\varepsilon$. But the gradient of all samples that have not yet collapsed would
# grow with $N$. So the time until nearly all collapse would still depend on $N$, and so would the
# size of $v$.
# ```

# %% [markdown]
# ## Run it yourself
#
# A few seconds. There is nothing to reduce, whatever the scale.
#
# ```bash
# make page PAGE=liu2026/tab03 SCALE=laptop
# ```
#
# This page reads no record: it computes networks, operations and gradients when it is executed.
# The paper's words are those of arXiv 2605.06152.
