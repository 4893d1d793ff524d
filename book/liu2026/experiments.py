"""Experiments of Liu et al. 2026, "Grokking or Glitching?".

There is no official code. Settings are those of the paper's Tables 2 to 4; what they
leave open is inferred (the remark says from what), and where two readings are possible
both are arms. The number of training images is stated nowhere: 200, as in Thilak et al.
2022, whose betas and learning rate the CIFAR-10 runs share. Steps are full-batch
epochs unless ``batch_size`` says otherwise.
"""

from claimbook.experiment import Spec
from claimbook.papers import Registry, Rows, Size, experiment, row, shared

SOFTMAX32, SOFTMAX64 = (
    Spec("softmax_cross_entropy", dtype=dtype) for dtype in ("float32", "float64")
)
PROJECTED, REPAIRED = Spec("projected_cross_entropy"), Spec("repaired_cross_entropy")
COLLAPSED = Spec("collapsed_cross_entropy")  # in float64
UNBALANCED = Spec("unbalanced_cross_entropy")  # in float64
DOUBLED = Spec("doubled_cross_entropy")  # in float64
CLASSES = 10
BRANCH = 576  # epoch at which the branches part
# A mean loss at which at least nine of ten samples have none: that of a sample is 0 or
# at least the distance from 1 to the next float32.
NEARLY_ZERO = 0.1 * 2.0**-23
LOOK = ("core", "inflation", "head_update")
# Of networks with batch norm; without it, running means are looked at, not the steps.
AS_TRAINED = {"batch_statistics": True}


def adam(lr=1e-3, beta2=0.95, eps=1e-8, weight_decay=0.0, **how) -> Spec:
    """Adam without weight decay unless it is given; betas of Table 3."""
    decay = {"weight_decay": weight_decay}
    return Spec("adamw", lr=lr, betas=(0.9, beta2), eps=eps, **decay, **how)


def images(samples=200, tests=1000, files=1) -> Spec:
    """Pixels in [0, 1], not normalised; the first images of so many of the files."""
    return Spec("cifar10", train_samples=samples, test_samples=tests, batches=files)


def deep(width: int = 512, **options) -> Spec:
    """Table 3's MLP: 3072, five hidden layers, 10; biases as in Table 2's."""
    return Spec("mlp", classes=CLASSES, widths=(width,) * 5, features=3072, **options)


def vgg(**options) -> Spec:
    return Spec("vgg11", classes=CLASSES, width=Size(64, 8), **options)


def resnet(**options) -> Spec:
    how = {"stem": "cifar", "width": Size(64, 8), "start": "torch"}
    return Spec("resnet18", classes=CLASSES, **how, **options)


COMMON = {"dataset": images(), "model": deep(), "loss": SOFTMAX32, "optimizer": adam()}
COMMON |= {"epochs": Size(10_000, 3000), "log": 50, "observables": LOOK}
COMMON |= {"trace": True, "through_nan": True}
EXPERIMENTS = Registry("liu2026", (42, *range(9)), seed_count=Size(5, 3), **COMMON)
ALL, THREE = Size(10, 3), Size(3, 3)  # seeds, where not five and three
CURVATURE = ("sharpness", "adam_curvature")
NARROW = {"model": deep(20), "rarely": (100, CURVATURE)}
SPIKES = ((850, 50), (1570, 1), (6200, 50), (6320, 1), (10_000, 50))
TOKENS = {"classes": Size(99, 33), "vocabulary": Size(99, 33), "positions": 4}
# Convolutions and the ViT have half of the images on a laptop, and fewer epochs.
TESTS = Size(1000, 200)
GALLERY = {"dataset": images(Size(200, 100), TESTS), "epochs": Size(10_000, 2000)}
SMALL = "p = 31 in full batches, width {} of 100,000 steps, three seeds of five"
SHORT = "3,000 of 10,000 epochs, three seeds of five"
HALF = "100 of 200 images, width 8 of 64, 2,000 of 10,000 epochs, three seeds of five"


def precisions() -> Rows:
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)


def causes(head: str) -> Rows:
    """The interventions of the causal table on a network whose head has that name."""
    centred = (Spec("centre_rows", names=(head,)),)
    yield row("projection", PROJECTED)
    yield row("W_G subtracted", wrappers=centred)
    yield row("repair", REPAIRED)
    yield row("simulated collapse", COLLAPSED)
    yield row("sum broken", UNBALANCED)
    yield row("sum broken, W_G subtracted", UNBALANCED, wrappers=centred)


def division() -> Rows:
    """What all of Table 2 share: tokens are a, the operator, b and the equals sign."""
    task = {"operation": "divide", "equals": True, "operator": True}
    yield shared(dataset=Spec("modular", p=Size(97, 31), train_fraction=0.5, **task))
    yield shared(optimizer=adam(beta2=0.999), schedule=Spec("warmup", over=10))
    yield shared(batch_size=Size(512, None), log=100)


def descent(lr: float, loss: float = NEARLY_ZERO) -> dict:
    return {"wrappers": (Spec("descend_from", loss=loss, lr=lr),)}


@EXPERIMENTS.section
def cifar_mlp() -> Rows:
    """CIFAR-10 in the MLP of Table 3."""
    # Also the base of Figures 2 to 4, 9 and the causal table. float32 and fig02a were
    # recorded in 160 steps around a slingshot with "head_update_histogram" as well.
    yield experiment("fig01", SHORT)
    yield from precisions()
    yield row("float64", SOFTMAX64, dtype="float64")

    yield experiment("causal512", SHORT)  # what removes inflation, and spikes
    yield from causes("layers.5.weight")

    yield experiment("fig02a", SHORT)  # updates at a spike should follow them
    yield row("β2 0.9", optimizer=adam(beta2=0.9))
    yield row("β2 0.999", optimizer=adam(beta2=0.999))

    yield experiment("fig03a", SHORT)  # Adam's epsilon
    yield row("ε 1e-06", optimizer=adam(eps=1e-6))
    yield row("ε 1e-05", optimizer=adam(eps=1e-5))

    yield experiment("fig03b", SHORT)  # norms before the head
    for norm, how in (("layer", {}), ("batch", AS_TRAINED)):
        plain = deep(head_norm=norm, affine=False)
        yield row(f"{norm} norm", model=deep(head_norm=norm, affine=True), **how)
        yield row(f"{norm} norm, no affine", model=plain, **how)

    yield experiment("fig03c", HALF)  # VGG-11
    yield shared(**GALLERY, **AS_TRAINED)
    yield row("before the head", model=vgg(head_norm="batch"))
    plain = vgg(head_norm="batch", affine=False)
    yield row("before the head, no affine", model=plain)
    yield row("both", model=vgg(norm="batch", head_norm="batch"))

    yield experiment(
        "fig04a",
        "3,000 epochs (15,000 at the smallest rate) of 10,000 (50,000), three seeds of "
        "five",
    )
    longer = {"epochs": Size(50_000, 15_000), "log": 250}
    yield row("learning rate 0.01", optimizer=adam(1e-2))
    yield row("learning rate 0.0001", optimizer=adam(1e-4))
    yield row("learning rate 1e-05", optimizer=adam(1e-5), **longer)

    yield experiment("fig04b", SHORT)  # all on wrong classes, 0.1
    smoothing = 0.1 * CLASSES / (CLASSES - 1)
    for dtype in ("float32", "float64"):
        loss = Spec("softmax_cross_entropy", dtype=dtype, smoothing=smoothing)
        yield row(f"smoothed, {dtype} loss", loss)

    yield experiment("texts", SHORT)  # claims of B.2.9, B.2.10, B.3
    yield row("no head bias", model=deep(head_bias=False))
    yield row("clamped", Spec("clamped_cross_entropy"))
    yield row("centred logits", Spec("projected_cross_entropy", forward=True))


@EXPERIMENTS.section
def left_out() -> Rows:
    """What the paper names and does not run, and what would tell its causes apart."""
    yield experiment("low", SHORT)  # B.5.3
    low = Spec("softmax_cross_entropy", dtype="bfloat16")
    yield row("bfloat16 loss", low)

    # a second moment that never falls leaves no small divisor for a spike
    yield experiment("amsgrad", SHORT)
    yield row("AMSGrad", optimizer=adam(amsgrad=True))

    # a broken sum with nothing lost of the correct logit's gradient
    centred = (Spec("centre_rows", names=("layers.5.weight",)),)
    yield experiment("exact512", SHORT)
    yield row("sum broken, correct exact", DOUBLED)
    yield row("sum broken, correct exact, W_G subtracted", DOUBLED, wrappers=centred)
    yield experiment("exact20", SHORT)
    yield shared(model=deep(20))
    yield row("sum broken, correct exact", DOUBLED)
    yield row("sum broken, correct exact, W_G subtracted", DOUBLED, wrappers=centred)

    # Definitions 3 and 5: the state that Theorems 4, 6 and 7 assume
    yield experiment("neural", "one seed of five", seeds=Size(5, 1))
    yield shared(epochs=2000, log=10, observables=(*LOOK, "neural_collapse"))
    yield row("float32")

    yield experiment("decay", SHORT)  # B.5.1
    for decay in (0.1, 1.0):
        rule = adam(weight_decay=decay)
        yield row(f"weight decay {decay:g}", optimizer=rule)

    # B.2.6 and B.2.8; the rates of fig04a in the narrow network, where curvature is
    # cheap, and that of the interventions whose spikes are in question
    yield experiment("curvature20", SHORT, **NARROW)
    yield row("projection", PROJECTED)
    yield row("sum broken", UNBALANCED)
    yield row("learning rate 0.01", optimizer=adam(1e-2))
    yield row("learning rate 0.0001", optimizer=adam(1e-4))
    smooth = Spec("softmax_cross_entropy", smoothing=0.1 * CLASSES / (CLASSES - 1))
    yield row("smoothed, float32 loss", smooth)


@EXPERIMENTS.section
def narrow() -> Rows:
    """The narrow network of Figure 6."""
    yield experiment(
        "fig06", "3,000 of 10,000 epochs, three seeds", seeds=ALL, **NARROW
    )
    yield from precisions()
    yield row("float64", SOFTMAX64, dtype="float64")

    yield experiment("fig06near", SHORT)  # around the first slingshot
    yield shared(**NARROW, log=SPIKES, observables=(*LOOK, *CURVATURE))
    yield row("float32")

    yield experiment("causal20", "3,000 of 10,000 epochs, three seeds", seeds=ALL)
    yield shared(model=deep(20))
    yield from causes("layers.5.weight")


@EXPERIMENTS.section
def modular_division() -> Rows:
    """Table 2, Figures 7 and 8."""
    # No layer norm; ReLU is inferred from Power et al. 2022. Also Figures 2c and 3a. Of
    # the paper's 100,000 steps a fifth, and two fifths of the MLP's.
    yield experiment("fig07", SMALL.format("32 of 128, 10,000"))
    yield from division()
    size = {"depth": 2, "width": Size(128, 32), "hidden": (Size(4 * 128, 4 * 32),)}
    model = Spec("transformer", **TOKENS, **size, causal=True, bias=True)
    yield shared(model=model, epochs=Size(20_000, 10_000))
    yield from precisions()
    yield from causes("unembedding.weight")
    yield row("ε 1e-06", optimizer=adam(beta2=0.999, eps=1e-6))
    yield row("ε 1e-05", optimizer=adam(beta2=0.999, eps=1e-5))
    yield row("full batch", batch_size=None, only="paper")

    yield experiment("fig08", SMALL.format("128 of 512, 40,000"))
    yield from division()
    model = Spec("mlp", widths=(Size(512, 128),) * 5, **TOKENS)
    yield shared(model=model, epochs=40_000)
    yield from precisions()
    yield from causes("layers.5.weight")
    yield row("full batch", batch_size=None, only="paper")


@EXPERIMENTS.section
def images_and_descent() -> Rows:
    """More images, and gradient descent in place of Adam: Figure 9."""
    # More images (B.2.7); the arm of 200 is that of fig01.
    yield experiment(
        "fig09", "500 of 50,000 images, 3,000 of 10,000 epochs, three seeds"
    )
    yield shared(seeds=THREE)
    yield row("2,000 images", dataset=images(2000), only="paper")
    yield row("20,000 images", dataset=images(20_000, files=5), only="paper")
    yield row("50,000 images", dataset=images(50_000, files=5), only="paper")
    yield row("500 images", dataset=images(500), only="laptop")

    # The paper's rate is 1e5, from a loss of zero on (B.2.2). That comes long after the
    # first slingshot, so the others begin where nine of ten samples have no loss. Few
    # epochs, since a pilot found NaN in ten steps.
    yield experiment(
        "fig09descent", "not from a loss of exactly zero, three seeds of five"
    )
    epochs = {1e5: 1000, 1e4: 1000, 1e3: 3000, 1e2: 3000}
    for told, loss, rates in (
        ("float32", SOFTMAX32, 4),
        ("float64 loss", SOFTMAX64, 3),
    ):
        for lr in [*epochs][:rates]:
            how = descent(lr) | {"epochs": epochs[lr]}
            yield row(f"{told}, rate {lr:,.0f}", loss, **how)
    zero = descent(1e5, loss=0.0) | {"epochs": 7000}
    yield row("float32, from a loss of zero", **zero, only="paper")

    # Gradient descent at a rate of 1,000 from one state of float32 with Adam, the loss
    # then another. The three seeds of fig09descent switch at epochs 572, 576 and 589.
    yield experiment("branches", "three seeds of five")
    yield shared(wrappers=(Spec("descend_from", after=BRANCH, lr=1e3),))
    yield shared(epochs=BRANCH + 1200, log=24)
    yield row("float32")
    for told, loss in {
        "projection": PROJECTED,
        "sum broken": UNBALANCED,
        "float64 loss": SOFTMAX64,
        "simulated collapse": COLLAPSED,
        "repair": REPAIRED,
    }.items():
        yield row(told, later_loss=(BRANCH, loss))


@EXPERIMENTS.section
def networks_of_images() -> Rows:
    """Figures 10 to 13."""
    yield experiment("fig10", HALF)  # VGG-11
    yield shared(**GALLERY, model=vgg())
    yield from precisions()
    yield from causes("head.weight")

    # B.3.1, and what should slow down the growth of the mean
    yield experiment(
        "batches",
        "100 of 50,000 images in batches of 25, width 8 of 64, 8,000 of 1,000,000 "
        "steps, three seeds",
        seeds=THREE,
    )
    yield shared(dataset=images(Size(50_000, 100), TESTS, files=Size(5, 1)))
    yield shared(batch_size=Size(256, 25), epochs=Size(1_000_000, 8000))
    yield shared(log=Size(5000, 100))
    centred = (Spec("centre_rows", names=("head.weight",)),)
    yield row("float32", model=vgg())
    yield row("W_G subtracted", model=vgg(), wrappers=centred)
    yield row("before the head", model=vgg(head_norm="batch"), **AS_TRAINED)

    yield experiment("fig11", HALF)
    yield shared(**GALLERY, **AS_TRAINED, model=vgg(norm="batch"))
    yield from precisions()

    # The ViT; batches of 2,048 are whole with 2,000 images, an inferred number.
    yield experiment(
        "fig12",
        "100 of 2,000 images, width 32 of 256, depth 2 of 12, 2,000 of 10,000 epochs, "
        "three seeds",
        seeds=THREE,
    )
    yield shared(dataset=images(Size(2000, 100), TESTS), epochs=Size(10_000, 2000))
    size = {"width": Size(256, 32), "hidden": Size(4 * 256, 4 * 32)}
    size |= {"depth": Size(12, 2), "heads": Size(8, 4)}
    yield shared(model=Spec("vit", classes=CLASSES, **size))
    yield from precisions()

    yield experiment("fig13", HALF)  # ResNet-18
    yield shared(**GALLERY, model=resnet())
    yield row("float32", **AS_TRAINED)
    yield row("float64 loss", SOFTMAX64, **AS_TRAINED)
    yield row("no batch norm", model=resnet(norm=None))
    yield row("learning rate 1e-4", optimizer=adam(1e-4), **AS_TRAINED)


@EXPERIMENTS.section
def language_and_theory() -> Rows:
    """The language model of Table 4, and features that train freely, as in the theory."""
    # Size, rate and start are those of "109M" in the code that the paper follows.
    yield experiment(
        "fig05",
        "0.26 of 140.6 million weights, 8,192 tokens of FineWeb-Edu read again and "
        "again in batches of 512, a vocabulary of 2,048 of 50,304, 2,000 of 100,000 "
        "steps, three seeds of five",
    )
    text = {"corpus": "fineweb-edu", "vocabulary": Size(50_257, 2048)}
    text |= {"block": Size(2048, 64), "train_blocks": Size(None, 128)}
    yield shared(dataset=Spec("wikitext", **text, test_blocks=Size(16, 32)))
    size = {"depth": Size(15, 4), "width": Size(640, 64), "hidden": Size(1792, 176)}
    padded = Size(50_304, 2048)  # the table's number of tokens
    yield shared(model=Spec("decoder", vocabulary=padded, heads=4, **size))
    yield shared(optimizer=adam(0.1), schedule=Spec("cosine", warmup=Size(5000, 100)))
    yield shared(epochs=Size(100_000, 2000), log=Size(1000, 100))
    yield shared(batch_size=Size(64, 8), eval_batch=Size(4, 32))
    yield shared(observables=("core", "mean_logits", "head_means"))
    clip = Spec("clip", norm=1.0)
    centre = Spec("centre_rows", names=("unembedding.weight",))
    yield shared(wrappers=(clip,), autocast="bfloat16")
    yield row("float32 loss")
    yield row("float64 loss", SOFTMAX64)
    yield row("W_G subtracted", wrappers=(clip, centre))
    yield row("float32 loss, float32 logits", autocast=None)
    yield row("float64 loss, float32 logits", SOFTMAX64, autocast=None)

    yield experiment("free", "10,000 of 40,000 steps, three seeds of five")
    yield shared(dataset=Spec("balanced_rows", classes=CLASSES, per_class=20))
    yield shared(model=Spec("free_features", classes=CLASSES, rows=200, width=64))
    yield shared(epochs=Size(40_000, 10_000), log=200)
    yield from precisions()
    yield row("projection", PROJECTED)
    yield row("repair", REPAIRED)
