"""Two optimizers fit a straight line."""

from claimbook.experiment import Spec
from claimbook.papers import Registry, Rows, Size, experiment, row, shared

EXPERIMENTS = Registry("descent", seeds=(0, 1, 2), seed_count=Size(3, 2))


@EXPERIMENTS.section
def race() -> Rows:
    # Which comes first?
    yield experiment("race", "two seeds of three", log=5, observables=("errors",))
    yield shared(dataset=Spec("noisy_line", rows=50, noise=0.1), model=Spec("line"))
    yield shared(loss=Spec("squared_error"), epochs=100)
    yield row("gradient descent", optimizer=Spec("sgd", lr=0.1))
    yield row("Adam", optimizer=Spec("adam", lr=0.1))
