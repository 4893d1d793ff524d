"""The experiment of the first chapter: grokking in seconds, on any machine.

It is of no paper. Modular addition is the task of Power et al. 2022, made small: an MLP
with one hidden layer, p = 59 and half of all pairs, with a large learning rate. With
weight decay it generalises long after it has fitted, without decay it does not.
"""

from claimbook.experiment import Spec
from claimbook.papers import END, Registry, Rows, Size, experiment, row, shared

P = Size(97, 59)
EXPERIMENTS = Registry("basics", seeds=(42, *range(4)), seed_count=Size(5, 5))


@EXPERIMENTS.section
def grokking() -> Rows:
    """An MLP on modular addition, with and without weight decay."""
    yield experiment(
        "grokking",
        "p = 59, one hidden layer and full batches; Power et al. have p = 97, a "
        "transformer and batches of 512",
    )
    yield shared(dataset=Spec("modular", p=P, train_fraction=0.5))
    yield shared(model=Spec("mlp", classes=P, vocabulary=P, widths=(200,)))
    yield shared(loss=Spec("softmax_cross_entropy", dtype="float32"))
    yield shared(epochs=Size(10_000, 4000), log=((500, 10), (END, 50)))
    for name, decay in (("decay 1", 1.0), ("no decay", 0.0)):
        yield row(name, optimizer=Spec("adamw", lr=0.01, weight_decay=decay))
