"""Arms whose first hundred steps are pinned: every loss, hook, network and dtype.

``golden.json`` beside this file has what the first engine of this book made of them on
the plain backend. It was written once, before the learner replaced that engine, and an
engine that moves a bit of it makes the records of the book irreproducible. Sparse
parity alone was written anew, when its rows became those of the official draw, and the
Taylor loss with penalties, when a seed of the data apart from the member's went.
"""

from claimbook.experiment import Arm, Spec

STEPS = 100
P = 17


def modular(**options) -> Spec:
    return Spec("modular", p=P, **options)


def mlp(**options) -> Spec:
    sizes = {"classes": P, "vocabulary": P, "widths": (24, 24), "bias": False}
    return Spec("mlp", **sizes | options)


def softmax(**options) -> Spec:
    return Spec("softmax_cross_entropy", **options)


def adamw(lr: float = 0.01, beta2: float = 0.99, eps: float = 1e-25, **rest) -> Spec:
    return Spec("adamw", lr=lr, betas=(0.9, beta2), eps=eps, **rest)


def arm(name: str, **changes) -> Arm:
    settings = {
        "dataset": modular(),
        "model": mlp(),
        "loss": softmax(dtype="float32"),
        "optimizer": adamw(),
        "epochs": STEPS,
        "log": STEPS,
        "observables": ("core",),
    }
    return Arm(name, **settings | changes)


def wide(name: str = "exact_cross_entropy", **options) -> Spec:
    """A loss in float64."""
    return Spec(name, dtype="float64", **options)


def sgd(lr: float, momentum: float = 0.0, **rest) -> Spec:
    return Spec("sgd", lr=lr, momentum=momentum, **rest)


def transformer(classes: int, **options) -> Spec:
    sizes = {"classes": classes, "vocabulary": classes, "width": 16, "hidden": (64,)}
    return Spec("transformer", **sizes | options)


ORTHOGONAL = Spec("orthogonal", rescale=True, scope="tensor")
PAPERS_ORTHOGONAL = Spec("orthogonal", rescale=False, scope="global")
STABLEMAX = wide("stablemax_cross_entropy")
CODES = modular(encoding="random_binary", bits=7)
SINGH = modular(train_fraction=0.3, equals=True, shuffle="python")
POST_NORM = {"norms": ("post_attention", "post_mlp"), "learned_positions": False}
POST_NORM |= {"bias": True, "dropout": 0.1, "initialisation": "torch"}
M_A = {"positions": 3, "norms": ("query_key", "value", "mlp"), "norm_eps": 0.0}
M_A |= {"mlp_bias": True, "initialisation": "lecun", "activation": "gelu"}
DEEP = {"positions": 3, "depth": 3, "width": 8, "hidden": (32,), "norm": "rms"}
DEEP |= {"norms": ("query_key", "mlp"), "initialisation": "lecun"}
GPT2 = Spec("gpt2", vocabulary=256, positions=8, width=8, heads=2, depth=2)
BATCHES = {"batch_size": 4, "eval_batch": 2}
TEXT = {"block": 8, "vocabulary": 256, "train_blocks": 9, "test_blocks": 4}

ARMS = (
    arm("softmax float32"),
    arm(
        "exact, weights float64",
        loss=wide(),
        dtype="float64",
        optimizer=adamw(beta2=0.999, eps=1e-150),
    ),
    arm("StableMax, ⊥AdamW", loss=STABLEMAX, wrappers=(ORTHOGONAL,)),
    arm(
        "Taylor with penalties",
        loss=wide("taylor_cross_entropy"),
        penalties=(Spec("logit_norm", strength=0.01), Spec("l2", strength=0.1)),
        alpha=0.5,
        init_scale=2.0,
    ),
    arm(
        "Taylor detached, SGD with decay",
        loss=wide("taylor_cross_entropy", detach_min=True),
        optimizer=sgd(1.0, weight_decay=1e-3),
    ),
    arm(
        "MSE, one layer, bias",
        model=mlp(widths=(24,), bias=True),
        loss=Spec("mean_squared_error", dtype="float32"),
        penalties=(Spec("logit_norm", strength=0.01, squared=True),),
        alpha=4.0,
    ),
    arm(
        "float16, steps of one length",
        loss=softmax(dtype="float16"),
        optimizer=sgd(0.018),
        wrappers=(Spec("gradient_norm_schedule"),),
    ),
    arm(
        "paper's ⊥SGD in float64",
        loss=STABLEMAX,
        dtype="float64",
        optimizer=sgd(10.0, 0.8),
        wrappers=(PAPERS_ORTHOGONAL,),
    ),
    arm(
        "correct logit zeroed from step 40",
        loss=wide(),
        later_loss=(40, wide("correct_logit_zeroed")),
    ),
    arm(
        "codes in batches, correct logit detached from step 40",
        dataset=CODES,
        model=mlp(vocabulary=None, features=14, bias=True),
        batch_size=20,
        later_loss=(40, wide("correct_logit_detached")),
    ),
    arm(
        "sparse parity, smooth",
        dataset=Spec("sparse_parity", samples=60, data_seed=42),
        model=Spec("mlp", classes=2, features=43, widths=(24, 24)),
        loss=softmax(dtype="float32", smoothing=0.2),
        optimizer=adamw(beta2=0.999, eps=1e-18),
    ),
    arm(
        "transformer without norms, decay",
        dataset=modular(operation="divide", smallest=1),
        model=transformer(P + 1, hidden=(64, 64), causal=True),
        optimizer=adamw(1e-3, weight_decay=1.5),
    ),
    arm(
        "PyTorch's encoder with dropout, ⊥AdamW",
        dataset=modular(operation="subtract", smallest=1),
        model=transformer(P, **POST_NORM),
        wrappers=(ORTHOGONAL,),
    ),
    arm(
        "Singh's M+A*",
        dataset=SINGH,
        model=transformer(P + 1, **M_A),
        loss=wide("softmax_cross_entropy"),
        optimizer=adamw(1e-3, beta2=0.98, eps=1e-8, weight_decay=1.0),
        alpha=0.75,
    ),
    arm(
        "three layers, RMSNorm",
        dataset=SINGH,
        model=transformer(P + 1, **DEEP),
        loss=wide("softmax_cross_entropy"),
        optimizer=adamw(1e-3, beta2=0.98, eps=1e-8, weight_decay=1.0),
    ),
    arm(
        "ResNet-18, ⊥SGD with momentum",
        dataset=Spec("cifar10", normalised=True, train_samples=8, test_samples=6),
        model=Spec("resnet18", classes=10, stem="cifar", width=4),
        loss=STABLEMAX,
        optimizer=sgd(0.1, 0.9, weight_decay=1e-4),
        wrappers=(ORTHOGONAL,),
        schedule=Spec("staircase", every=30),
        augment=Spec("crop_flip", size=32, padding=4),
        **BATCHES,
    ),
    *(
        arm(
            f"GPT-2, {attention} attention",
            dataset=Spec("wikitext", **TEXT),
            model=Spec("gpt2", **GPT2.options, dropout=dropout, attention=attention),
            optimizer=adamw(5e-4, beta2=0.999, eps=1e-8, weight_decay=0.01),
            schedule=Spec("cosine", warmup=10),
            **BATCHES,
        )
        for attention, dropout in (("softmax", 0.1), ("stablemax", 0.0))
    ),
)
