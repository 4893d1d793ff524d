"""How a paper's experiments are written down: one function of the scale per record."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from grokbook.experiment import Arm, Experiment

T = TypeVar("T")


class Registry(dict[str, Callable[[str], Experiment]]):
    """Experiments of one paper by name, filled by its decorator."""

    def __init__(self, paper: str, seeds: tuple[int, ...]):
        super().__init__()
        self.paper, self.seeds = paper, seeds

    def experiment(
        self, *, reduced: str, laptop_seeds: int = 1, paper_seeds: int | None = None
    ) -> Callable:
        """Decorate a function from a scale to the arms of one record.

        All seeds (or the first ``paper_seeds``) are used at paper scale, the first
        ``laptop_seeds`` at laptop scale, two in smoke tests. ``reduced`` says in words
        what laptop scale leaves out.
        """
        paper_seeds = paper_seeds or len(self.seeds)
        counts = {"paper": paper_seeds, "laptop": laptop_seeds, "smoke": 2}

        def register(arms: Callable[[str], Iterable[Arm]]):
            def make(scale: str) -> Experiment:
                return Experiment(
                    f"{self.paper}/{arms.__name__}",
                    scale,
                    tuple(arms(scale)),
                    self.seeds[: counts[scale]],
                    reduced if scale == "laptop" else "",
                )

            self[arms.__name__] = make
            return arms

        return register


def by_scale(scale: str, paper: T, laptop: T, smoke: T) -> T:
    """The value that belongs to a scale."""
    return {"paper": paper, "laptop": laptop, "smoke": smoke}[scale]
