"""The experiments of a paper by name, and how they are written down.

``get("prieto2025/fig02", "paper")`` finds one in book/prieto2025/experiments.py, where
an arm is a row, and a setting that differs between the scales is a ``Size``:

    @EXPERIMENTS.section
    def losses() -> Rows:
        # Two losses.
        yield experiment("fig99", "2,000 of 20,000 epochs, one seed of five", log=50)
        yield shared(optimizer=adamw(1e-3), epochs=Size(20_000, 2_000))
        yield row("softmax", SOFTMAX)
        yield row("StableMax", STABLEMAX)

The third scale, smoke, is what ``shrink`` makes of the settings at laptop scale.

Who trains, executes pages or lists what there is to train runs this code. Who reads
records runs none: ``recorded`` finds the same experiments in a table beside them.
"""

import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from claimbook import project, records
from claimbook.errors import (
    BookError,
    NoRecord,
    RecordError,
    choose,
    one_line,
    refuse_text,
)
from claimbook.experiment import (
    COUNTED,
    SCALES,
    Arm,
    Experiment,
    LaterLoss,
    Rarely,
    Spec,
)

Row = dict[str, Any]  # an experiment, shared settings or an arm, as it is written
Rows = Iterator[Row]
END: Any = object()  # the last epoch of an arm, in its ``log``, ``keep`` or ``rarely``


@dataclass(frozen=True)
class Size:
    """A setting with one value at paper scale and another at laptop and smoke."""

    paper: Any
    laptop: Any


def experiment(name: str, reduced: str, **settings: Any) -> Row:
    """Return a dict that begins an experiment; the arms are the dicts yielded after it.

    ``name`` is the experiment's id within its paper. ``reduced`` says in words what
    laptop scale leaves out. ``settings`` are shared by the arms; ``seeds`` among them
    is the number of seeds, as a Size, or a tuple of the seeds themselves. Smoke scale
    has the arms of both other scales, with two seeds, or with those of the tuple.
    """
    return {"experiment": name, "reduced": reduced} | settings


def shared(**settings: Any) -> Row:
    """Return a dict of settings for all arms that follow in an experiment.

    A setting that an arm has itself takes precedence. ``seeds`` among them, as in
    `experiment`, counts for the arms before as well: an experiment has one set.
    """
    return settings


def row(
    name: str | Size,
    loss: Spec | Size | None = None,
    optimizer: Spec | Size | None = None,
    **settings: Any,
) -> Row:
    """Return the dict of an arm: its settings beyond those that are shared.

    ``loss`` and ``optimizer`` are specs, or None to take the shared one. ``only`` among
    the settings is the one scale at which the experiment has the arm, or "" for all;
    smoke scale has every arm.
    """
    named = {"name": name, "loss": loss, "optimizer": optimizer}
    # by `section` a dict without a name is taken for shared settings
    return {k: value for k, value in named.items() if value is not None} | settings


def at_scale(scale: str, value: Any, end: int | None = None) -> Any:
    """Return a setting with each ``Size`` in it replaced by its value at a scale.

    Smoke scale has the value of laptop scale. ``end``, the last epoch of the arm, takes
    the place of each ``END``; inside a spec that becomes None, as no option is an
    epoch. Tuples and options of specs are searched too.
    """
    if value is END:
        return end
    if isinstance(value, Size):
        return at_scale(scale, value.paper if scale == "paper" else value.laptop, end)
    if isinstance(value, Spec):
        options = {k: at_scale(scale, v) for k, v in value.options.items()}
        return Spec(value.name, **options)
    if isinstance(value, tuple):
        return tuple(at_scale(scale, part, end) for part in value)
    return value


class Registry(dict[str, Callable[[str], Experiment]]):
    """The experiments of one paper, by name, each as a function of the scale.

    ``paper`` is the folder of the paper. The first ``seed_count`` of the ``seeds`` are
    trained, at smoke scale two, unless an experiment says otherwise. ``settings`` are
    shared by all arms of the paper.
    """

    def __init__(
        self, paper: str, seeds: tuple[int, ...], seed_count: Size, **settings: Any
    ):
        """Make a registry without experiments; `section` adds them."""
        super().__init__()
        self.paper = paper
        self.seeds = seeds
        self.seed_count = seed_count
        self.settings = settings

    def section(self, rows: Callable[[], Rows]) -> Callable[[], Rows]:
        """Register the experiments that a function yields, and return the function.

        It is a decorator, and runs the function at once. The function yields dicts: for
        each experiment that of ``experiment``, followed by those of ``shared`` and
        ``row``. Raises BookError for a name that another experiment of the paper has.
        """
        for entry in map(dict, rows()):  # copies, since keys are taken out of them
            if "experiment" in entry:  # the rows that follow add to this draft
                name = entry.pop("experiment")
                if name in self:
                    raise BookError(f"{self.paper} has two {name!r}: rename one")
                draft = {"name": name, "reduced": entry.pop("reduced")}
                draft |= {"seeds": self.seed_count, "arms": []}
                settings = self.settings
                # The draft is read when somebody asks for the experiment, after the
                # rows that follow have been added; once a scale, since arms cache
                # their training keys.
                self[name] = cache(partial(self._make_experiment, draft))
            if "name" in entry:  # an arm
                draft["arms"].append(settings | entry)
            else:  # shared settings, which the dict of an experiment has as well
                draft["seeds"] = entry.pop("seeds", draft["seeds"])
                settings = settings | entry
        return rows

    def _make_experiment(self, draft: dict[str, Any], scale: str) -> Experiment:
        """Return the experiment of a draft at a scale.

        The draft has the entries "name", "reduced", "seeds" (their number or a tuple of
        them, or a Size of either) and "arms", a list with the settings of each arm.
        Smoke scale has all arms, whatever their ``only``, and two seeds, or the tuple.
        Raises KeyError for an arm without ``epochs``, and TypeError for one without
        another setting that `Arm` needs.
        """
        is_smoke = scale == "smoke"
        arms = []
        for settings in draft["arms"]:
            if is_smoke or settings.get("only", "") in ("", scale):
                end = at_scale(scale, settings["epochs"])
                fields = {k: at_scale(scale, v, end) for k, v in settings.items()}
                fields.pop("only", None)
                arm = Arm(**fields)
                arms.append(shrink(arm) if is_smoke else arm)
        seeds = at_scale(scale, draft["seeds"])
        if not isinstance(seeds, tuple):
            seeds = self.seeds[: 2 if is_smoke else seeds]  # the first ones
        name = f"{self.paper}/{draft['name']}"
        reduced = draft["reduced"] if scale == "laptop" else ""
        return Experiment(name, scale, tuple(arms), seeds, reduced)


def shrink(arm: Arm) -> Arm:
    """Return the arm of the smoke test, which trains in a fraction of a second.

    It has six epochs, and its options are at most as large as "smoke" of
    book/project.yaml says: few rows, a narrow network. No verdict is based on it.

    The modulus p is reduced too, and by as much the numbers of classes and tokens,
    which are p and a few more. Where numbers are written as codes ("encoding"), p sets
    the length of a code and stays as it is.
    """
    limits = dict(project.part("smoke"))
    if "encoding" in arm.dataset.options:
        limits.pop("p", None)
    # the modulus that is reduced; 0 if none is
    p = arm.dataset.options.get("p", 0) if "p" in limits else 0

    def limited(option: str, value: Any) -> Any:
        """Return an option's value, at most as large as its limit if it has one."""
        if p and option in COUNTED:  # classes and tokens: as many less as p is
            return value - p + min(p, limits["p"])
        if option not in limits:
            return value
        if isinstance(value, tuple):
            return tuple(limited(option, part) for part in value)
        return min(value, limits[option])

    def small(spec: Spec) -> Spec:
        """Return a spec with all its options limited."""
        return Spec(spec.name, **{k: limited(k, v) for k, v in spec.options.items()})

    # settings that the arm does not have stay None, or ()
    return replace(
        arm,
        dataset=small(arm.dataset),
        model=small(arm.model),
        schedule=arm.schedule and small(arm.schedule),
        epochs=6,
        log=3,
        rarely=arm.rarely and Rarely(3, arm.rarely.observables),
        keep=arm.keep and (0, 6),
        later_loss=arm.later_loss and LaterLoss(3, arm.later_loss.loss),
        batch_size=arm.batch_size and 4,
        eval_batch=arm.eval_batch and 4,
    )


@cache
def registries() -> dict[str, Registry]:
    """Return {folder of a paper: its experiments}, in the order of the book.

    Runs each book/<paper>/experiments.py, once in a process; a folder without one is
    left out. Raises BookError if there is none at all, as in a download, and for one
    that fails, with the line of the file at which it does, if it has run so far.
    """
    by_folder = {}
    for folder in project.page_folders():
        path = project.home() / f"book/{folder}/experiments.py"
        if path.is_file():
            try:
                by_folder[folder] = runpy.run_path(str(path))["EXPERIMENTS"]
            except (Exception, SystemExit) as error:  # the file may do anything
                frames = traceback.extract_tb(error.__traceback__)
                lines = [f.lineno for f in frames if f.filename == str(path)]
                place = f", line {lines[-1]}," if lines else ""
                message = f"{path}{place} cannot be run ({one_line(error)})"
                raise BookError(message) from error
    if not by_folder:
        raise BookError(
            f"{project.home()} has no book/<paper>/experiments.py, so that its records "
            "can be read and nothing be trained: set GROKBOOK_HOME to a checkout"
        )
    return by_folder


def names(prefix: str = "") -> list[str]:
    """Return the names of experiments that begin with a prefix, in the book's order.

    If the prefix is itself the name of an experiment, it alone is returned. If no name
    begins with it, the list is empty.
    """
    known = [
        f"{paper}/{page}" for paper, pages in registries().items() for page in pages
    ]
    if prefix in known:
        return [prefix]
    return [name for name in known if name.startswith(prefix)]


def get(name: str, scale: str) -> Experiment:
    """Return an experiment at a scale; raises UnknownName if either is unknown."""
    choose("scale", scale, SCALES)
    paper, _, page = choose("experiment", name, names()).partition("/")
    return registries()[paper][page](scale)


def every(scales: Iterable[str] = SCALES) -> list[Experiment]:
    """Return all experiments of the book at some scales, by default at all scales."""
    return [get(name, scale) for name in names() for scale in scales]


def recorded(name: str, scale: str) -> Experiment:
    """Return an experiment from the table beside the book's records; no code is run.

    Raises UnknownName for an unknown scale or if the experiment is not recorded,
    NoRecord if it is not at this scale, and BookError if the table is missing or
    damaged.
    """
    choose("scale", scale, SCALES)
    experiments = records.read_experiments(project.records_folder())
    choose("recorded experiment", name, sorted({known for known, _ in experiments}))
    if (name, scale) not in experiments:
        raise NoRecord(f"{name} has no record at {scale} scale")
    try:
        return Experiment.from_plain(experiments[name, scale])
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(
            f"{records.EXPERIMENTS} has settings of {name} that are none ({error}): "
            "take it from git again"
        ) from error


def record(
    name: str,
    *,
    scale: str = "best",
    arms: Iterable[str] = (),
    folder: Path | None = None,
    find: Callable[[str, str], Experiment] = get,
) -> records.Record:
    """Return the record of an experiment, at a scale or at the "best" that has one.

    The best scale is the first of ``SCALES`` with a recorded seed for each of ``arms``,
    or if none has them all, the first with any record: a record may lack arms while it
    is being trained. ``folder`` is that of the records, by default the book's. ``find``
    returns the experiment of a name and a scale: `get`, or `recorded`, which runs no
    code of the book. Raises NoRecord if nothing is recorded, RecordError if a member is
    damaged, and UnknownName for a name or a scale that ``find`` does not know.
    """
    chosen = best(name, arms, folder, find) if scale == "best" else find(name, scale)
    return records.load(chosen, folder)


def best(
    name: str,
    arms: Iterable[str] = (),
    folder: Path | None = None,
    find: Callable[[str, str], Experiment] = get,
) -> Experiment:
    """Return an experiment at its "best" scale; `record` explains it and the arguments.

    The names of the files tell what is recorded; none is opened. Raises NoRecord if
    nothing is recorded, and UnknownName for a name that ``find`` does not know.
    """
    first_recorded = None
    refuse_text("arms", arms)
    wanted = {*arms}
    for scale in SCALES:
        with suppress(NoRecord):  # `recorded` raises it for a scale without a record
            candidate = find(name, scale)
            if recorded_arms := records.recorded_arms(candidate, folder):
                if wanted <= recorded_arms:
                    return candidate
                first_recorded = first_recorded or candidate
    if first_recorded:
        return first_recorded
    command = f"grokbook run {name} --scale laptop --record"
    raise NoRecord(f"{name} has no record yet: run `{command}`")
