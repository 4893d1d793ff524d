"""How a paper's experiments are written down: an arm is a row, a scale a value in it.

    @experiment("2,000 of 20,000 epochs, one seed of five")
    def fig99() -> Rows:
        '''Two losses.'''
        yield shared(optimizer=adamw(1e-3), epochs=Size(20_000, 2_000), log=50)
        yield row("softmax", SOFTMAX)
        yield row("StableMax", STABLEMAX)

There is a third scale, smoke, which ``shrink`` makes of the laptop's values.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from grokbook.experiment import Arm, Experiment, Spec

Rows = Iterator[dict[str, Any]]
END: Any = object()  # the last epoch of an arm, in its ``log``, ``keep`` or ``rarely``
# What ``shrink`` leaves of what makes a data set, a network or a schedule large.
ROWS = {"p": 11, "samples": 40, "train_samples": 12, "test_samples": 8, "pairs": 40}
TEXTS = {"block": 12, "train_blocks": 12, "test_blocks": 4, "vocabulary": 256}
NETWORKS = {"width": 8, "widths": 8, "hidden": 16, "depth": 2, "heads": 2}
TINY = ROWS | TEXTS | NETWORKS | {"positions": 12, "warmup": 2, "every": 2}


@dataclass(frozen=True)
class Size:
    """A value that differs between the scales: the paper's, and that of a laptop."""

    paper: Any
    laptop: Any


def row(
    name: str | Size,
    loss: Spec | Size | None = None,
    optimizer: Spec | Size | None = None,
    *,
    only: str = "",
    **settings: Any,
) -> dict[str, Any]:
    """An arm: what it has beside, or instead of, what all share.

    ``only``: the scale that alone has this arm, if it is not at both.
    """
    given = {"loss": loss, "optimizer": optimizer, "only": only}
    return {"name": name} | {k: v for k, v in given.items() if v} | settings


def shared(**settings: Any) -> dict[str, Any]:
    """What all arms that follow have unless they say otherwise."""
    return settings


def at(scale: str, value: Any, end: int | None = None) -> Any:
    """A value with every ``Size`` in it, however deep, replaced by that of a scale."""
    if value is END:
        return end
    if isinstance(value, Size):
        return at(scale, value.paper if scale == "paper" else value.laptop, end)
    if isinstance(value, Spec):
        return Spec(value.name, **{k: at(scale, v) for k, v in value.options.items()})
    if isinstance(value, tuple):
        return tuple(at(scale, part, end) for part in value)
    return value


class Registry(dict[str, Callable[[str], Experiment]]):
    """Experiments of one paper by name, filled by its decorator.

    ``count``: with how many of the ``seeds`` an arm is trained, unless its experiment
    says otherwise; ``settings``: what all arms of the paper share.
    """

    def __init__(self, paper: str, seeds: tuple[int, ...], count: Size, **settings):
        super().__init__()
        self.paper, self.seeds, self.count = paper, seeds, count
        self.settings = settings

    def experiment(self, reduced: str, *, seeds: Size | None = None) -> Callable:
        """Decorate a function that yields the rows of one record.

        ``reduced`` says in words what laptop scale leaves out. A smoke test has the
        arms of both scales, made tiny, with two seeds.
        """

        def register(rows: Callable[[], Rows]) -> Callable[[], Rows]:
            def make(scale: str) -> Experiment:
                number = 2 if scale == "smoke" else at(scale, seeds or self.count)
                return Experiment(
                    f"{self.paper}/{rows.__name__}",
                    scale,
                    tuple(_arms(scale, self.settings, rows())),
                    self.seeds[:number],
                    reduced if scale == "laptop" else "",
                )

            self[rows.__name__] = make
            return rows

        return register


def _arms(scale: str, settings: dict[str, Any], rows: Rows) -> Iterator[Arm]:
    for one in rows:
        if "name" not in one:
            settings = settings | one
        elif scale in ("smoke", one.get("only", scale)):
            values = settings | one
            values.pop("only", None)
            end = at(scale, values["epochs"])
            arm = Arm(**{key: at(scale, value, end) for key, value in values.items()})
            yield shrink(arm) if scale == "smoke" else arm


def shrink(arm: Arm) -> Arm:
    """A smoke test of an arm: the same in a fraction of a second, and for no verdict.

    Six epochs, few rows, a narrow network; classes and tokens that are counted from p
    follow it, but where numbers are codes p stays, since it sets their length.
    """
    coded = "encoding" in arm.dataset.options
    p = 0 if coded else arm.dataset.options.get("p", 0)

    def small(name: str, value: Any) -> Any:
        if p and name in ("classes", "vocabulary"):
            return value - p + TINY["p"]
        if name not in TINY or (name == "p" and coded):
            return value
        if isinstance(value, tuple):
            return tuple(min(one, TINY[name]) for one in value)
        return min(value, TINY[name])

    def tiny(spec: Spec) -> Spec:
        return Spec(spec.name, **{k: small(k, v) for k, v in spec.options.items()})

    return replace(
        arm,
        dataset=tiny(arm.dataset),
        model=tiny(arm.model),
        schedule=arm.schedule and tiny(arm.schedule),
        epochs=6,
        log=3,
        rarely=arm.rarely and (3, arm.rarely[1]),
        keep=arm.keep and (0, 6),
        later_loss=arm.later_loss and (3, arm.later_loss[1]),
        batch_size=arm.batch_size and 4,
        eval_batch=arm.eval_batch and 4,
    )
