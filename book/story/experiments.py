"""The experiment of the story: one small network, and what four papers change in it.

It is of no paper. Every arm has the same start, the same examples and the same steps of
Adam, whose short memory (beta2 0.95) lets logits grow quickly; an arm changes one thing, and
StableMax the precision of the loss as well.
"""

from claimbook.experiment import Spec
from claimbook.papers import END, Registry, Rows, Size, experiment, row, shared

SOFTMAX = Spec("softmax_cross_entropy", dtype="float32")
STABLEMAX = Spec("stablemax_cross_entropy", dtype="float64")
OFTEN = (*range(0, 100, 20), 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000)
OFTEN += (3000, 4000, 5000, 6000, 7000, END)
ADAM = {"lr": 0.01, "betas": (0.9, 0.95), "eps": 1e-25}
EXPERIMENTS = Registry("story", seeds=(42,), seed_count=Size(1, 1))


def adamw(**options: float) -> Spec:
    return Spec("adamw", **ADAM | options)


@EXPERIMENTS.section
def story() -> Rows:
    """An MLP on modular addition: as it is, and with one change each."""
    yield experiment("one_network", "complete")
    yield shared(dataset=Spec("modular", p=59, train_fraction=0.6))
    network = Spec("mlp", classes=59, vocabulary=59, widths=(128, 128), bias=False)
    yield shared(model=network, optimizer=adamw(), loss=SOFTMAX, epochs=8000)
    yield shared(log=((500, 10), (END, 25)), keep=(0, 100, 1000, END))
    yield shared(keep_dtype="float16")
    yield row("softmax", keep=OFTEN)
    yield row("StableMax", STABLEMAX)
    yield row("⊥Grad", wrappers=(Spec("orthogonal"),))
    yield row("weight decay", optimizer=adamw(weight_decay=1.0))
    yield row("activations", penalties=(Spec("activations", strength=0.5),))
