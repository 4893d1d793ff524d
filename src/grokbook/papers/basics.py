"""The experiment of the first chapter: grokking in seconds, on any machine.

It is of no paper. Modular addition is the task of Power et al. 2022, made small: an MLP
with one hidden layer, p = 59 and half of all pairs, with a large learning rate. With
weight decay it generalises long after it has fitted, without decay it does not.
"""

from collections.abc import Iterator

from grokbook.experiment import Arm, Spec
from grokbook.papers.registry import Registry, by_scale

EXPERIMENTS = Registry("basics", seeds=(42, *range(4)))


@EXPERIMENTS.experiment(
    reduced="p = 59, one hidden layer and full batches; Power et al. have p = 97, a "
    "transformer and batches of 512",
    laptop_seeds=5,
)
def grokking(scale: str) -> Iterator[Arm]:
    """An MLP on modular addition, with and without weight decay."""
    p, width, epochs = by_scale(scale, (97, 200, 10_000), (59, 200, 4000), (11, 8, 12))
    for name, decay in (("decay 1", 1.0), ("no decay", 0.0)):
        yield Arm(
            name,
            Spec("modular", p=p, train_fraction=0.5),
            Spec("mlp", classes=p, vocabulary=p, widths=(width,)),
            Spec("softmax_cross_entropy", dtype="float32"),
            Spec("adamw", lr=0.01, weight_decay=decay),
            epochs=epochs,
            log=by_scale(scale, ((500, 10), (10_000, 50)), ((500, 10), (4000, 50)), 3),
        )
