"""Experiments of Liu et al. 2026, "Grokking or Glitching?".

There is no official code. Settings are those of the paper's Tables 2 to 4; what they
leave open is inferred (the remark says from what), and where two readings are possible
both are arms. The number of training images is stated nowhere: 200, as in Thilak et al.
2022, whose betas and learning rate the CIFAR-10 runs share. Steps are full-batch
epochs unless ``batch_size`` says otherwise.
"""

from grokbook.experiment import Spec
from grokbook.papers.registry import Registry, Rows, Size, row, shared

SOFTMAX32, SOFTMAX64 = (
    Spec("softmax_cross_entropy", dtype=dtype) for dtype in ("float32", "float64")
)
PROJECTED, REPAIRED = Spec("projected_cross_entropy"), Spec("repaired_cross_entropy")
COLLAPSED = Spec("collapsed_cross_entropy")  # in float64
UNBALANCED = Spec("unbalanced_cross_entropy")  # in float64
CLASSES = 10
# A mean loss at which at least nine of ten samples have none: that of a sample is 0 or
# at least the distance from 1 to the next float32.
NEARLY_ZERO = 0.1 * 2.0**-23
LOOK = ("core", "inflation", "head_update")
# Of networks with batch norm; without it, running means are looked at, not the steps.
AS_TRAINED = {"batch_statistics": True}


def adam(lr=1e-3, beta2=0.95, eps=1e-8) -> Spec:
    """Adam without weight decay; betas of Table 3."""
    return Spec("adamw", lr=lr, betas=(0.9, beta2), eps=eps, weight_decay=0.0)


def images(samples=200, tests=1000, files=1) -> Spec:
    """Pixels in [0, 1], not normalised; the first images of so many of the files."""
    return Spec("cifar10", train_samples=samples, test_samples=tests, batches=files)


def deep(width: int = 512, **options) -> Spec:
    """Table 3's MLP: 3072, five hidden layers, 10; biases as in Table 2's."""
    return Spec("mlp", classes=CLASSES, widths=(width,) * 5, features=3072, **options)


def vgg(**options) -> Spec:
    return Spec("vgg11", classes=CLASSES, width=Size(64, 8), **options)


def resnet(**options) -> Spec:
    settings = {"stem": "cifar", "width": Size(64, 8), "start": "torch"} | options
    return Spec("resnet18", classes=CLASSES, **settings)


COMMON = {"dataset": images(), "model": deep(), "loss": SOFTMAX32, "optimizer": adam()}
COMMON |= {"epochs": Size(10_000, 3000), "log": 50, "observables": LOOK}
COMMON |= {"trace": True, "through_nan": True}
EXPERIMENTS = Registry("liu2026", (42, *range(9)), count=Size(5, 3), **COMMON)
experiment = EXPERIMENTS.experiment
ALL, ONE, THREE = Size(10, 3), Size(5, 1), Size(3, 3)  # seeds, where not five and three
# Convolutions and the ViT have half of the images on a laptop, and fewer epochs.
TESTS = Size(1000, 200)
GALLERY = {"dataset": images(Size(200, 100), TESTS), "epochs": Size(10_000, 2000)}
HALF = "100 of 200 images, width 8 of 64, 2,000 of 10,000 epochs, {} of five"


def causes(head: str) -> Rows:
    """The interventions of the causal table on a network whose head has that name."""
    centred = (Spec("centre_rows", names=(head,)),)
    yield row("projection", PROJECTED)
    yield row("W_G subtracted", wrappers=centred)
    yield row("repair", REPAIRED)
    yield row("simulated collapse", COLLAPSED)
    yield row("sum broken", UNBALANCED)
    yield row("sum broken, W_G subtracted", UNBALANCED, wrappers=centred)


# CIFAR-10 (Table 3) ------------------------------------------------------------------

SHORT = "3,000 of 10,000 epochs, three seeds of five"


@experiment(SHORT)
def fig01() -> Rows:
    """Precision; also the base of Figures 2a, 2b, 3, 4, 9 and of the causal table.

    What is recorded of float32, here and in ``fig02a``, was also looked at in each of
    160 steps around its first slingshot, with "head_update_histogram".
    """
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)
    yield row("float64", SOFTMAX64, dtype="float64")


@experiment(SHORT)
def causal512() -> Rows:
    """What removes inflation and what removes spikes: the MLP of width 512."""
    yield from causes("layers.5.weight")


@experiment(SHORT)
def fig02a() -> Rows:
    """Other betas: the size of the update at a spike should follow them."""
    yield row("β2 0.9", optimizer=adam(beta2=0.9))
    yield row("β2 0.999", optimizer=adam(beta2=0.999))


@experiment(SHORT)
def fig03a() -> Rows:
    """Adam's epsilon."""
    yield row("ε 1e-06", optimizer=adam(eps=1e-6))
    yield row("ε 1e-05", optimizer=adam(eps=1e-5))


@experiment(SHORT)
def fig03b() -> Rows:
    """A norm before the head; batch norm there is the MLP's case of Figure 3c."""
    for norm, how in (("layer", {}), ("batch", AS_TRAINED)):
        plain = deep(head_norm=norm, affine=False)
        yield row(f"{norm} norm", model=deep(head_norm=norm, affine=True), **how)
        yield row(f"{norm} norm, no affine", model=plain, **how)


@experiment(HALF.format("one seed"), seeds=ONE)
def fig03c() -> Rows:
    """Batch norm before the head of VGG-11, with and without that inside."""
    yield shared(**GALLERY, **AS_TRAINED)
    yield row("before the head", model=vgg(head_norm="batch"))
    plain = vgg(head_norm="batch", affine=False)
    yield row("before the head, no affine", model=plain)
    yield row("both", model=vgg(norm="batch", head_norm="batch"))


@experiment(
    "3,000 epochs (15,000 at the smallest rate) of 10,000 (50,000), three seeds of five"
)
def fig04a() -> Rows:
    """Learning rates; the smallest needs more epochs to get to zero loss."""
    longer = {"epochs": Size(50_000, 15_000), "log": 250}
    yield row("learning rate 0.01", optimizer=adam(1e-2))
    yield row("learning rate 0.0001", optimizer=adam(1e-4))
    yield row("learning rate 1e-05", optimizer=adam(1e-5), **longer)


@experiment(SHORT)
def fig04b() -> Rows:
    """Label smoothing 0.1 in the paper's convention, all of it on wrong classes."""
    smoothing = 0.1 * CLASSES / (CLASSES - 1)
    for dtype in ("float32", "float64"):
        loss = Spec("softmax_cross_entropy", dtype=dtype, smoothing=smoothing)
        yield row(f"smoothed, {dtype} loss", loss)


@experiment(SHORT)
def texts() -> Rows:
    """Claims without a figure: bias (B.2.9), clamping (B.2.10), B.3's other W_G."""
    yield row("no head bias", model=deep(head_bias=False))
    yield row("clamped", Spec("clamped_cross_entropy"))
    yield row("centred logits", Spec("projected_cross_entropy", forward=True))


# The narrow network of Figure 6 ------------------------------------------------------

CURVATURE = ("sharpness", "adam_curvature")
NARROW = {"model": deep(20), "rarely": (100, CURVATURE)}
SPIKES = ((850, 50), (1570, 1), (6200, 50), (6320, 1), (10_000, 50))


@experiment("3,000 of 10,000 epochs, three seeds", seeds=ALL)
def fig06() -> Rows:
    """Early oscillations and late slingshots of one narrow network."""
    yield shared(**NARROW)
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)
    yield row("float64", SOFTMAX64, dtype="float64")


@experiment(SHORT)
def fig06near() -> Rows:
    """The same network with its curvature at every step around the first slingshot."""
    yield shared(**NARROW, log=SPIKES, observables=(*LOOK, *CURVATURE))
    yield row("float32")


@experiment("3,000 of 10,000 epochs, three seeds", seeds=ALL)
def causal20() -> Rows:
    """The causal table's narrow network."""
    yield shared(model=deep(20))
    yield from causes("layers.5.weight")


# Modular division (Table 2, Figures 7 and 8) -----------------------------------------


def division() -> Rows:
    """What all of Table 2 share: tokens are a, the operator, b and the equals sign."""
    task = {"operation": "divide", "equals": True, "operator": True}
    yield shared(dataset=Spec("modular", p=Size(97, 31), train_fraction=0.5, **task))
    yield shared(optimizer=adam(beta2=0.999), schedule=Spec("warmup", over=10))
    yield shared(batch_size=Size(512, None), log=100)


TOKENS = {"classes": Size(99, 33), "vocabulary": Size(99, 33), "positions": 4}
SMALL = "p = 31 in full batches, width {} of 100,000 steps, one seed of five"


@experiment(SMALL.format("32 of 128, 10,000"), seeds=ONE)
def fig07() -> Rows:
    """The modular transformer; also Figures 2c and 3a, and the causal table.

    It has no layer norm; ReLU is inferred from Power et al. 2022.
    """
    yield from division()
    size = {"depth": 2, "width": Size(128, 32), "hidden": (Size(4 * 128, 4 * 32),)}
    model = Spec("transformer", **TOKENS, **size, causal=True, bias=True)
    yield shared(model=model, epochs=Size(100_000, 10_000))
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)
    yield from causes("unembedding.weight")
    yield row("ε 1e-06", optimizer=adam(beta2=0.999, eps=1e-6))
    yield row("ε 1e-05", optimizer=adam(beta2=0.999, eps=1e-5))
    yield row("full batch", batch_size=None, only="paper")


@experiment(SMALL.format("128 of 512, 40,000"), seeds=ONE)
def fig08() -> Rows:
    """The modular MLP, in batches and whole, and the causal table's arms of it."""
    yield from division()
    model = Spec("mlp", widths=(Size(512, 128),) * 5, **TOKENS)
    yield shared(model=model, epochs=Size(100_000, 40_000))
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)
    yield from causes("layers.5.weight")
    yield row("full batch", batch_size=None, only="paper")


# More images, and gradient descent in place of Adam (Figure 9) -----------------------


@experiment("500 of 50,000 images, 3,000 of 10,000 epochs, three seeds", seeds=THREE)
def fig09() -> Rows:
    """More images (B.2.7); the arm of 200 is that of fig01."""
    yield row("2,000 images", dataset=images(2000), only="paper")
    yield row("20,000 images", dataset=images(20_000, files=5), only="paper")
    yield row("50,000 images", dataset=images(50_000, files=5), only="paper")
    yield row("500 images", dataset=images(500), only="laptop")


@experiment("not from a loss of exactly zero, three seeds of five")
def fig09descent() -> Rows:
    """From Adam to gradient descent (B.2.2), with the loss in either precision.

    The paper's rate is 1e5, from a loss of zero on. That comes thousands of epochs
    after the first slingshot, so the other arms begin where nine of ten samples have
    a loss of zero; the smaller rates are ours.
    """

    def descent(lr: float, loss: float = NEARLY_ZERO) -> dict:
        return {"wrappers": (Spec("descend_from", loss=loss, lr=lr),)}

    short, long = {"epochs": 1000}, {"epochs": 3000}  # a pilot found NaN in ten steps
    yield row("float32, rate 100,000", **descent(1e5), **short)
    yield row("float32, rate 10,000", **descent(1e4), **short)
    yield row("float32, rate 1,000", **descent(1e3), **long)
    yield row("float32, rate 100", **descent(1e2), **long)
    yield row("float64 loss, rate 100,000", SOFTMAX64, **descent(1e5), **short)
    yield row("float64 loss, rate 10,000", SOFTMAX64, **descent(1e4), **short)
    yield row("float64 loss, rate 1,000", SOFTMAX64, **descent(1e3), **long)
    zero = descent(1e5, loss=0.0) | {"epochs": 7000, "only": "paper"}
    yield row("float32, from a loss of zero", **zero)


# Networks of images (Figures 10 to 13) -----------------------------------------------


@experiment(HALF.format("three seeds"))
def fig10() -> Rows:
    """VGG-11, and the causal table's arms of it."""
    yield shared(**GALLERY, model=vgg())
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)
    yield from causes("head.weight")


@experiment(
    "100 of 50,000 images in batches of 25, width 8 of 64, 8,000 of 1,000,000 steps, "
    "three seeds",
    seeds=THREE,
)
def batches() -> Rows:
    """VGG-11 in batches (B.3.1), and what should slow down the growth of its mean."""
    yield shared(dataset=images(Size(50_000, 100), TESTS, files=Size(5, 1)))
    yield shared(batch_size=Size(256, 25), epochs=Size(1_000_000, 8000))
    yield shared(log=Size(5000, 100))
    centred = (Spec("centre_rows", names=("head.weight",)),)
    yield row("float32", model=vgg())
    yield row("W_G subtracted", model=vgg(), wrappers=centred)
    yield row("before the head", model=vgg(head_norm="batch"), **AS_TRAINED)


@experiment(HALF.format("one seed"), seeds=ONE)
def fig11() -> Rows:
    """VGG-11 with batch norm after every convolution; also Figure 3c."""
    yield shared(**GALLERY, **AS_TRAINED, model=vgg(norm="batch"))
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)


@experiment(
    "100 of 2,000 images, width 32 of 256, depth 2 of 12, 2,000 of 10,000 epochs, "
    "three seeds",
    seeds=THREE,
)
def fig12() -> Rows:
    """The ViT; batches of 2,048 are whole with 2,000 images, an inferred number."""
    yield shared(dataset=images(Size(2000, 100), TESTS), epochs=Size(10_000, 2000))
    size = {"width": Size(256, 32), "hidden": Size(4 * 256, 4 * 32)}
    size |= {"depth": Size(12, 2), "heads": Size(8, 4)}
    yield shared(model=Spec("vit", classes=CLASSES, **size))
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)


@experiment(HALF.format("one seed"), seeds=ONE)
def fig13() -> Rows:
    """ResNet-18, and what else it has: batch norm, a learning rate."""
    yield shared(**GALLERY, model=resnet())
    yield row("float32", **AS_TRAINED)
    yield row("float64 loss", SOFTMAX64, **AS_TRAINED)
    yield row("no batch norm", model=resnet(norm=None))
    yield row("learning rate 1e-4", optimizer=adam(1e-4), **AS_TRAINED)


# The language model (Table 4) --------------------------------------------------------


@experiment(
    "0.26 of 140.6 million weights, 8,192 tokens of FineWeb-Edu read again and "
    "again in batches of 512, a vocabulary of 2,048 of 50,304, 2,000 of 100,000 steps, "
    "three seeds of five"
)
def fig05() -> Rows:
    """Size, rate and start from the code that the paper follows, "109M" at rate 0.1."""
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


# Theory ------------------------------------------------------------------------------


@experiment("10,000 of 40,000 steps, three seeds of five")
def free() -> Rows:
    """Free features and a head without bias: inflation in the theory's own setting."""
    yield shared(dataset=Spec("balanced_rows", classes=CLASSES, per_class=20))
    yield shared(model=Spec("free_features", classes=CLASSES, rows=200, width=64))
    yield shared(epochs=Size(40_000, 10_000), log=200)
    yield row("float32")
    yield row("float64 loss", SOFTMAX64)
    yield row("projection", PROJECTED)
    yield row("repair", REPAIRED)
