# %% [markdown]
# # [Liu et al. 2026 · Table 3]{.kicker} The CIFAR-10 settings leave out how many images were trained on

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the networks of Table 3, their cost, the list of settings, the claims"
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from grokbook import claims, papers, plots, tables, theory
from grokbook.names import options, resolve

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
        "; ".join(f"{name}: {x:,.1f} s" for name, x in quick.items()), [x <= HOUR for x in quick.values()]
    ),
    "rate": claims.exactly(
        "; ".join(f"{n:,}: {rate:,.0f}" for n, rate in rates.items()), [rate >= 5e4 for rate in rates.values()]
    ),
    "size": {
        name: claims.exactly(f"{count[name]:,}, {cost[name] / 1e9:.2f} billion", given) for name in built
    },
    "all-images": claims.exactly("; ".join(f"{name}: {hours[name, 50_000]:,.1f} h" for name in built), given),
    "gradient": claims.exactly(
        "; ".join(f"{n:,}: {gradients[n]:.0e}".replace("e-0", "e-") for n in SIZES), given
    ),
}
sheet = claims.read("liu2026/tab03", found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-tab03
#| caption: >
#|   The number that Table 3 lacks decides two things. (a) Gradient at a logit of one sample
#|   at the threshold of collapse, in the mean loss over all images; dashed, Adam's ε. Marked:
#|   the four numbers of the appendix. (b) Hours of 10,000 epochs at an RTX 5090's peak of
#|   float32; dashed, the hour that the paper reports.
#| alt: >
#|   Left: a falling line on logarithmic axes that is already 17 times below Adam's epsilon at
#|   200 images and 4,000 times at 50,000. Right: rising lines of four networks; the MLP stays
#|   below one hour, VGG-11 crosses it near 40,000 images, ResNet-18 near 11,000 and the ViT
#|   near 10,000.
#| fold: "Code: draw the figure"
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
time.set(ylabel="hours of 10,000 epochs", ylim=(1e-4, 1e3))
time.legend(loc="upper left", fontsize=10, ncols=2)
plots.letter([slope, time], ["one sample's gradient", "cost"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
largest = {name: PEAK * HOUR / EPOCHS / cost[name] for name in built}
tables.prose(f"""
* **{sum(stated)} of {len(SETTINGS)} settings** are stated. What is missing most is the number of
  training images. Only the appendix on dataset size names numbers:
  {", ".join(f"{n:,}" for n in SIZES)}.
* **The gradient depends on it** (a). The loss is a mean, so one sample that leaves the
  {{term}}`softmax collapse` counts for 1 part in 200, or in 50,000. At a
  {{term}}`logit` that is {gradients[200]:.0e} or {gradients[50_000]:.0e}. Adam's
  $\\varepsilon$ is {EPS:g}.
* **So does the cost** (b). The paper reports an hour. At the card's peak, 10,000 epochs of the
  ViT then have at most {largest["ViT"]:,.0f} images, and of ResNet-18
  {largest["ResNet-18"]:,.0f}. Most figures must have had fewer.
* **The networks can be rebuilt**: {"; ".join(f"{n} {c / 1e6:.2f} million" for n, c in count.items())}
  parameters.
""")

# %% [markdown]
# ## The idea
#
# Let one of $N$ samples be just at the threshold, with residual mass $\epsilon$, and all
# others collapsed. In the mean loss its gradient at the correct logit is $\epsilon / N$. If it
# stays, Adam moves by
#
# $$
# \Delta = \eta\, \frac{\epsilon / N}{\epsilon / N + \varepsilon} .
# $$
#
# For $\epsilon / N \gg \varepsilon$ that is the learning rate, whatever $N$. For
# $\epsilon / N \ll \varepsilon$ it is $\eta \epsilon / N \varepsilon$, and falls with $N$. So
# Adam forgets the scale of a gradient only above its $\varepsilon$:


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
# At a weight of the {term}`head` the gradient is larger, by an entry of the features, which
# may be some tens. And many samples may come back at once. Both move the bend; neither
# removes it.
#
# Every setting, as the paper has it and as it is run here:

# %% tags=["hide-input"]
#| fold: "Code: the table of settings"
tables.grid(
    ["Setting", "Paper", "Where", "Here"],
    [[name, words or "not stated", at, here] for name, words, at, here in SETTINGS],
)

# %% [markdown]
# ## The claims
#
# Nothing is trained here, so there are no seeds: *n* counts settings, networks or numbers. The
# list of settings is ours; someone else would make it a few lines longer or shorter.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing()

# %% [markdown]
# ## What was run
#
# The networks were built by the code that trains them, at the paper's size. Where the table
# leaves a choice, these were made:
#
# 1. *Training images.* 200, drawn with the seed and not balanced over classes. The learning
#    rate, both $\beta$ and the missing weight decay are those of {cite:t}`thilak2022`, whose
#    number that is. For the ViT 2,000: a batch of 2,048 is then the whole set.
# 2. *Biases* in all layers of the MLP, as the paper says of its other MLP.
# 3. *VGG-11.* Eight convolutions and five poolings leave one place of 512 channels, so that
#    the head is one layer. Usual heads of three layers are ruled out by the paper's words.
# 4. *ViT.* Hidden layers four times the width, a class token, and {term}`layer norm` before
#    each part and before the head.
# 5. *Cost.* Three times the operations of a forward pass. The peak of 105 TFLOP/s is NVIDIA's
#    number for float32 without shortcuts; no real training reaches it.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**What the table decides.** Learning rate, $\\beta_2$, $\\varepsilon$ and precision are all
there. With 0.95 for $\\beta_2$ the update of a gradient that comes back is
{theory.jump(ETA, (0.9, 0.95)):.1e}, which fits the paper's Figure 2a.

**What it leaves open** changes when spikes come, and whether they can be compared. A mean
over 200 images and one over 50,000 give Adam gradients that differ 250-fold, both below its
$\\varepsilon$. There its step is in proportion to them.

**"Independent of the dataset size"** is what the appendix reports of spikes. By this
arithmetic their onset should not be: with 50,000 images more samples have to come back
together, or with larger features. [Figure 9](fig09_cifar_mlp.ipynb) has arms for it.

**The hour cannot be that of all images.** 10,000 epochs of 50,000 images take, at the card's
peak, {hours["MLP", 50_000]:.2f} hours with the MLP and {hours["VGG-11", 50_000]:.1f} with VGG-11.
With ResNet-18 they take {hours["ResNet-18", 50_000]:.1f}, with the ViT {hours["ViT", 50_000]:.1f}. So
"Full Batch" must have meant fewer images for most networks.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-tab03-bend
# At how many images is the gradient of one sample at the threshold equal to Adam's
# $\varepsilon$? And with $\varepsilon = 10^{-5}$, which the paper uses against spikes?
# ```
#
# ````{solution} ex-liu2026-tab03-bend
# :class: dropdown
# ```python
# for eps in (1e-8, 1e-6, 1e-5):
#     print(f"ε = {eps:g}: {2.0**-23 / eps:.2f} images")
# ```
#
# At twelve. With the larger values even a single image is below: features of a norm of 100
# have to make up for it.
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
# Would a loss that is summed over images, not averaged, make spikes independent of their
# number?
# ```
#
# ```{solution} ex-liu2026-tab03-sum
# :class: dropdown
# One sample's gradient would be, at $\epsilon = 1.2 \times 10^{-7}$ for any number of images,
# twelve times Adam's $\varepsilon$. But the gradient of all the others that have not yet
# collapsed would grow with $N$. So the time to get to a collapse of nearly all would still
# depend on it, and with it the size of $v$.
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
# No record stands behind this page: networks, operations and gradients are computed when it is
# executed. The paper's words are those of arXiv 2605.06152.
