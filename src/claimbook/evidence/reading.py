"""Read the records and the papers' own numbers for a page, and list what was read.

The lists are stored with the page's table of claims, so that a check can tell when the
page is older than its sources. Papers' numbers are CSV files in
data/references/<paper>. Each has a row in sources.csv there, which says where the file
comes from, how it was made, and its SHA-256.
"""

import glob
import hashlib
import io
import json
import math
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd

from claimbook import change, papers, project, records
from claimbook.errors import DataError, NoRecord, choose, refuse_text
from claimbook.experiment import DEVICES, SCALES, Experiment
from claimbook.records import Record

FEW = 60  # members of a smoke test, each a tenth of a second; a worker starts in 7 s

_READ: list[dict[str, Any]] = []  # what this process has read, for `read`
_CITED: dict[str, dict[str, Any]] = {}  # by name, for `cited`


@dataclass(frozen=True)
class Page:
    """A page of the book, named "<paper>/<id>", which reads records by its parameters.

    ``scale`` is one of SCALES or "best". With ``retrain`` the page trains its runs
    anew, on ``device``, one of DEVICES. The whole process counts as a rerun then, from
    the construction of the Page on (see `tables.is_rerun`). Raises UnknownName for
    another device, also where nothing is trained.
    """

    name: str
    scale: str = "best"
    retrain: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        choose("device", self.device, DEVICES)
        if self.retrain:
            project.is_retrained = True  # `tables.is_rerun` asks for it

    def record(
        self,
        name: str = "",
        *,
        arms: Iterable[str] = (),
        reads: Iterable[str] = (),
        scale: str = "",
    ) -> Record:
        """Return the record of an experiment, stored or newly trained.

        ``name`` is "<paper>/<id>", or "<id>" within the page's own paper; by default it
        is the name of the page. ``arms`` are those without which the page cannot be
        read: "best" is the best scale whose record has a seed of each of them, so that
        a record that has only begun is passed over; if none has, it is the best with
        any record. ``scale`` overrides that of the page, unless it is "".

        Without ``retrain`` the stored record is returned. If there is none, an empty
        record is returned: it is false, its arms have no seeds, and the page says "not
        run" of them. Any other is noted for `read`.

        With ``retrain`` the experiment is trained into data/reruns/, where "best" means
        "laptop", so that a reader's rerun never touches the records of the book. It has
        the settings of ``change.in_use``, if the reader changes any. ``reads`` names
        the arms to train; without it all of them are trained. ``scale`` is ignored
        then: a reader who asks for a run of seconds must not wait for hours because the
        page of the book reads larger runs as well.

        Raises UnknownName for a name that no paper has, or an arm that no scale has,
        and RecordError for a record that is damaged.
        """
        if not scale or self.retrain:
            scale = self.scale
        if not name:
            name = self.name
        elif "/" not in name:
            name = f"{self.name.partition('/')[0]}/{name}"
        experiments = [papers.get(name, size) for size in SCALES]
        refuse_text("arms", arms)
        refuse_text("reads", reads)
        known = list(dict.fromkeys(arm.name for e in experiments for arm in e.arms))
        arms = [choose(f"arm of {name}", arm, known) for arm in arms]
        reads = [choose(f"arm of {name}", arm, known) for arm in reads]
        # the experiment to train, or that of an empty record
        best = "laptop" if self.retrain else "paper"
        experiment = papers.get(name, best if scale == "best" else scale)
        try:
            if self.retrain:
                result = _retrained(experiment, reads, self.device)
            else:
                result = papers.record(name, scale=scale, arms=arms)
        except NoRecord:
            frame = pd.DataFrame(columns=["arm", "seed", "epoch"])
            return Record(experiment, frame, members={}, paths={})
        if (entry := record_identity(result, asked=scale, arms=arms)) not in _READ:
            _READ.append(entry)
        return result


def _retrained(experiment: Experiment, arms: Iterable[str], device: str) -> Record:
    """Train what data/reruns/ lacks of some arms; return the experiment's record there.

    Without ``arms`` all are trained. If the reader changes settings, the record has
    that of the book as its ``book``. A few members of a smoke test are trained in this
    process, as workers take longer to start. Raises NoRecord if nothing was trained, as
    for arms that the experiment does not have, and TrainingError if a member fails.
    """
    from claimbook.engine import pool  # imports PyTorch, which reading does not need

    folder = project.reruns_folder()
    patterns = [glob.escape(arm) for arm in arms]  # "M+A*" is a name and no pattern
    changed = change.in_use.of(experiment) if change.in_use else experiment
    todo = pool.tasks([changed], folder, arms=patterns)
    if change.in_use:
        pool.try_out(todo)  # a value that cannot be trained fails before the others run
    is_quick = experiment.scale == "smoke" and len(todo) <= FEW
    processes = 0 if is_quick else None  # this process, or as many as there are cores
    pool.train(todo, device=device, processes=processes)
    result = records.load(changed, folder)
    if change.in_use:
        result.book = _of_book(experiment, change.in_use.altered(experiment))
    return result


def _of_book(experiment: Experiment, arms: Collection[str]) -> Record | None:
    """Return the book's record of an experiment, of some of its arms alone.

    It is that at the scale of ``experiment``, or if this has none of the arms, at the
    best that has any. The result is None if there is none.
    """
    for scale in (experiment.scale, *SCALES):
        of_scale = papers.get(experiment.name, scale)
        with suppress(NoRecord):
            chosen = tuple(arm for arm in of_scale.arms if arm.name in arms)
            return records.load(replace(of_scale, arms=chosen))
    return None


def record(name: str, *, scale="best", arms: Iterable[str] = (), **options) -> Record:
    """Return the record of an experiment by its full name; see `Page.record`.

    ``options`` are the other fields of the `Page` that reads it: ``retrain`` and
    ``device``.
    """
    return Page(name, scale, **options).record(arms=arms)


def read() -> list[dict[str, Any]]:
    """Return the `record_identity` of each record that this process has read.

    A record without members is not listed. One is there again for each other scale, or
    other arms, that were asked for. The order is that of the first time.
    """
    return list(_READ)


def record_identity(
    result: Record, *, asked: str, arms: Iterable[str]
) -> dict[str, Any]:
    """Return what identifies a record that was read, as values for JSON.

    ``asked`` and ``arms`` are the scale and the arms that the page asked for. The entry
    ``sha256`` covers the members' files, and ``planned`` is a digest of what pages show
    of the experiment beyond what is trained: names of arms, seeds, and how it is
    smaller than the paper's.
    """
    experiment = result.experiment
    arm_names = [arm.name for arm in experiment.arms]
    shown = json.dumps([arm_names, [*experiment.seeds], experiment.reduced])
    members = result.members.items()
    return {
        "record": result.name,
        "asked": asked,
        "arms": list(arms),
        "scale": result.scale,
        "members": {name: meta["training_key"] for name, meta in members},
        "sha256": result.digest,
        "planned": hashlib.sha256(shown.encode()).hexdigest()[:16],
    }


def reference(name: str) -> pd.DataFrame:
    """Return the authors' numbers "<paper>/<name>", and note them for `cited`.

    The columns are ``quantity``, ``series``, ``epoch`` and ``value``; some files have
    more (data/README.md). Units are as in records, so accuracies are fractions. Raises
    DataError for a file that sources.csv does not list, or lists with another SHA-256,
    and for one that is missing.
    """
    listed = source(name)  # its row of sources.csv
    path = project.home() / "data/references" / f"{name}.csv"
    # "none" of a missing file is no digest, so that it is refused as well
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none"
    if digest != listed["sha256"]:
        raise DataError(
            f"{path} has the SHA-256 {digest[:12]}…, not {listed['sha256'][:12]}… of "
            "sources.csv: restore it, or write there what it is now"
        )
    origin = {key: listed[key] for key in ("sha256", "repository", "commit", "path")}
    _CITED[name] = {"name": name} | origin
    return pd.read_csv(path)


def source(name: str) -> dict[str, str]:
    """Return the row of sources.csv about a reference "<paper>/<name>", by column.

    Raises DataError if there is no such row, and BookError if the file is damaged.
    """
    path = project.home() / "data/references/sources.csv"
    text = io.StringIO(project.read_text(path))
    try:
        rows = pd.read_csv(text, dtype=str, keep_default_na=False).set_index("file")
    except (KeyError, ValueError) as error:
        message = f"{path} is no table of files: take it from git again"
        raise DataError(message) from error
    if (file := f"{name}.csv") not in rows.index:
        raise DataError(f"{path} lists no {file!r}: it has {', '.join(rows.index)}")
    return rows.loc[file].to_dict()


def behind(
    mean: float, spread: float, *, count: int = 5, step: int = 100
) -> list[tuple[int, ...]]:
    """Return the sets of epochs that may lie behind a printed mean and deviation.

    The list has all ascending tuples of ``count`` multiples of ``step`` whose mean and
    population standard deviation are ``mean`` and ``spread`` to half an epoch; it is
    empty if there are none. An epoch may be there twice. ``step`` must be larger than
    ``count``, which is 2 or more: then only one sum of the epochs is possible.
    """
    total = step * round(count * mean / step)
    if abs(total / count - mean) > 0.5:
        return []
    # No epoch is further from the mean than sqrt(count) standard deviations; 1 more, as
    # both are rounded, and one step more above, as int rounds the mean down.
    reach = math.ceil(math.sqrt(count) * (spread + 1) / step)
    candidates = step * (np.arange(-reach, reach + 2) + int(mean / step))
    # (choices, count - 1), all ascending epochs but the last
    first = np.array(list(combinations_with_replacement(candidates, count - 1)))
    last = total - first.sum(axis=1)  # (choices,): the sum leaves one for each
    choices = np.column_stack([first, last])
    is_ascending = last >= first[:, -1]
    has_spread = abs(choices.std(axis=1) - spread) <= 0.5
    return [tuple(map(int, row)) for row in choices[is_ascending & has_spread]]


def cited() -> list[dict[str, Any]]:
    """Return the files that `reference` has read: name, SHA-256 and origin of each."""
    return list(_CITED.values())
