"""The page Settings: what every experiment was trained with, and what its runs did.

A row compares an experiment with its paper and the official code, as far as
book/<paper>/settings.yaml says what these have. Below the table a reader's own setting
is looked for among all recorded runs: nearest.js does so in the browser, in the index
that `packed` makes. nearest.yaml, beside this file, names the settings, such as "rate".
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from inspect import getsource
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from book._ext import catalogue
from book._ext.entries import Entry, folder_name, write_if_changed, yaml_of
from claimbook import canonical, evidence, papers, records, tables
from claimbook.errors import choose
from claimbook.evidence import Run, told
from claimbook.experiment import Arm, Experiment
from claimbook.project import home
from claimbook.tables.experiment import settings_of
from claimbook.tables.html import number

FITTED, GENERALISED = 0.99, 0.95  # accuracies of the training and the test set
COLUMNS = ("arm", "seed", "epoch", "train_loss", "train_accuracy", "test_accuracy")
PARTS = ("dataset", "model", "loss", "optimizer")
FILTERED = ["task", "network", "width", "loss", "loss dtype", "optimizer", "added"]
FILTERED += ["rate", "betas", "eps", "decay", "epochs"]
# Where a norm of a network is, by the option that asks for it.
PLACES = {
    "query_key": "before queries and keys",
    "value": "before values",
    "mlp": "before the MLP",
    "post_attention": "after attention",
    "post_mlp": "after the MLP",
    "final_norm": "before the unembedding",
}
# Words that have a number, but one that cannot be compared with ours.
RELATIVE = re.compile(r"pass|divided|/ ?lr|α|not [a-z]+$")
NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


@cache
def known_keys() -> set[str]:
    """Return the keys that book/<paper>/settings.yaml may use: what any arm has."""
    keys = {"seeds"}
    for name in papers.names():
        for arm in papers.get(name, "paper").arms:
            keys |= tables.settings_in_words(arm).keys()
            if arm.schedule:
                keys |= {f"schedule.{option}" for option in arm.schedule.options}
    return keys


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Return the settings by name, each as book/_ext/nearest.yaml explains it."""
    return yaml_of("book/_ext/nearest.yaml")


def values(arm: Arm) -> dict[str, Any]:
    """Return the settings of an arm by name, with defaults; None for one it lacks.

    The names are those of nearest.yaml.
    """
    data, model, loss, optimizer = (
        canonical.options(part, spec["name"], spec)
        for part, spec in arm.as_plain().items()
        if part in PARTS
    )
    task = tables.display_name(arm.dataset)
    if "corpus" in data and data["corpus"] is not None and task == "text":
        task = f"text ({data['corpus']})"
    widths = model.get("widths")
    return {
        "task": task,
        "modulus p": data.get("p"),
        "training share": data.get("train_fraction"),
        "training samples": data.get("train_samples", data.get("samples")),
        "network": tables.display_name(arm.model),
        "layers": len(widths) if widths else model.get("depth"),
        "width": widths[0] if widths else model.get("width"),
        "loss": tables.display_name(arm.loss),
        "loss dtype": loss.get("dtype"),
        "optimizer": tables.display_name(arm.optimizer),
        "added": ", ".join(additions(arm)) or "nothing",
        "rate": optimizer["lr"],
        "betas": optimizer.get("betas"),
        "eps": optimizer.get("eps"),
        "decay": optimizer.get("weight_decay"),
        "epochs": arm.epochs,
        "batch": arm.batch_size or "all rows",
        "norm": norm(model),
        "dropout": model.get("dropout"),
        "activation": model.get("activation"),
    }


def norm(model: Mapping[str, Any]) -> str | None:
    """Return which norm a network has and where: "layer norm before the MLP".

    ``model`` has its options. The text is "no norm" without one, and None if the
    network, such as GPT-2, leaves no choice of it.
    """
    if "norm" not in model:
        return None
    norms = []
    if "norms" in model:  # a transformer's, all of one kind
        places = [PLACES[place] for place in model["norms"]]
        if model["final_norm"]:
            places.append(PLACES["final_norm"])
        if places:
            norms.append((model["norm"], ", ".join(places)))
    else:
        norms.append((model["norm"], "in every hidden layer"))
        norms.append((model.get("head_norm"), "before the last layer"))
    words = [f"{kind} norm {place}" for kind, place in norms if kind]
    return " and ".join(words).replace("rms norm", "RMS norm") or "no norm"


def additions(arm: Arm) -> Iterator[str]:
    """Yield in words what an arm adds to a plain training."""
    for spec in (*arm.wrappers, *arm.penalties):
        yield tables.display_name(spec)
    if arm.schedule:
        yield arm.schedule.name
    if arm.later_loss:
        yield f"another loss from step {arm.later_loss.epoch:,}"
    if arm.alpha != 1:
        yield f"logits times {arm.alpha:g}"
    if arm.init_scale != 1:
        yield f"initial weights times {arm.init_scale:g}"


def outcome(run: Run) -> dict[str, Any]:
    """Return what the runs of an arm did: medians and ranges over seeds, in words.

    ``runs`` is their number, and ``lasting`` that of those which generalise.
    """
    lasting = run.generalises(accuracy=GENERALISED)
    return {
        "runs": len(run.seeds),
        "fitted": told(run.fitted(accuracy=FITTED)),
        "reached": told(run.reaches(accuracy=GENERALISED)),
        "generalised": told(lasting),
        "lasting": int(np.isfinite(lasting).sum()),
        "end": told(run.last("test_accuracy"), "{:.0%}"),
    }


def outcomes(plan: Experiment, digests: Sequence[str]) -> dict[str, Any]:
    """Return the `outcome` of each recorded arm of an experiment, by its name.

    Reading all records takes a minute. So the outcomes are kept in _build/outcomes, for
    as long as the ``digests`` of the members, plan and definitions stay the same.
    """
    evidence_files = sorted(Path(evidence.__file__).parent.glob("*.py"))
    parts = [path.read_text(encoding="utf-8") for path in evidence_files]
    parts += [getsource(outcome), json.dumps([plan.as_plain(), *digests])]
    name = f"{sha256(''.join(parts).encode()).hexdigest()[:16]}.json"
    path = home() / "_build" / "outcomes" / name
    if not path.is_file():
        record = records.load(plan)
        outcome_of = {  # a record of one arm is quick to search
            arm: outcome(Run(replace(record, frame=frame), arm))
            for arm, frame in record.frame[[*COLUMNS]].groupby("arm")
        }
        write_if_changed(path, json.dumps(outcome_of))
    return json.loads(path.read_text(encoding="utf-8"))


def packed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows with the same keys as columns, which nearest.js unpacks.

    A column has its distinct values ("of") and the place among them of the value of
    each row ("at"). So 1,300 runs take a fifth of the room. Without rows it is empty.
    """
    columns = {}
    for key in rows[0] if rows else ():
        texts = [json.dumps(row[key]) for row in rows]
        distinct = list(dict.fromkeys(texts))
        place_of = {text: place for place, text in enumerate(distinct)}
        columns[key] = {
            "of": [json.loads(text) for text in distinct],
            "at": [place_of[text] for text in texts],
        }
    return columns


# Beside the paper ---------------------------------------------------------------------


def said(setting: str, words: str) -> set[Any]:
    """Return the values that words of a paper or of a code state of a setting.

    "0.01, and 0.02 in (c)" has two rates, "softmax; StableMax" two losses, and "lost in
    our copy" none. Pairs are tuples, and a full batch is "all rows".
    """
    kind = definitions()[setting]["kind"]
    if kind == "class":
        patterns = definitions()[setting]["words"]
        pattern = "|".join(f"({pattern})" for pattern in patterns.values())
        matches = re.finditer(pattern, words.replace("_", " "), re.I)
        # the pattern of a class is a group, counted from 1
        return {list(patterns)[(match.lastindex or 1) - 1] for match in matches}
    if RELATIVE.search(words):
        return set()
    if kind == "pair":
        pairs = re.findall(r"\(([^()]*,[^()]*)\)", words)
        return {tuple(numbers(pair)) for pair in pairs}
    stated: set[Any] = set(numbers(words))
    if kind == "batch" and "full" in words:
        stated.add("all rows")
    if re.search(r"\bnone\b", words):
        stated.add(0.0)
    return stated


def numbers(words: str) -> list[float]:
    """Return all numbers in a text: "0.4, 2,000 and 1e-8" has three."""
    return [float(match.replace(",", "")) for match in NUMBER.findall(words)]


@dataclass(frozen=True)
class Line:
    """One setting of an experiment: the words of paper and code, the values here.

    ``paper`` and ``code`` are "" if they say nothing. ``here`` has the distinct values,
    in the order of the arms; a pair is a list.
    """

    setting: str
    paper: str
    code: str
    here: tuple[Any, ...]

    def differs(self, source: str) -> bool:
        """Return whether no run here has a value that the "paper" or "code" states.

        It is false if either side has no value.
        """
        theirs = said(self.setting, getattr(self, source))
        ours: set[Any] = {tuple(v) if isinstance(v, list) else v for v in self.here}
        if self.setting == "added":
            ours = {part for value in ours for part in value.split(", ")}
        return bool(theirs and ours) and theirs.isdisjoint(ours)

    @property
    def words(self) -> str:
        """The values here: "0.001, 0.01"."""
        return ", ".join(map(shown, self.here))


def shown(value: Any) -> str:
    """Return a value of a setting as all tables show it."""
    if isinstance(value, list):
        return f"({', '.join(map(shown, value))})"
    return number(value) if isinstance(value, float | int) else str(value)


@dataclass(frozen=True)
class Row:
    """One experiment at its best scale, with what is recorded of it.

    ``seeds`` has the recorded seeds by arm, and ``pages`` the pages that read it.
    """

    plan: Experiment
    seeds: Mapping[str, Sequence[int]]
    pages: Sequence[Entry]

    @property
    def name(self) -> str:
        """The name of the experiment, "<paper>/<id>"."""
        return self.plan.name

    @property
    def arms(self) -> list[Arm]:
        """The arms that were trained, with at least one seed."""
        return [arm for arm in self.plan.arms if self.seeds.get(arm.name)]

    @cached_property
    def arm_values(self) -> list[dict[str, Any]]:
        """The `values` of each of its arms."""
        return [values(arm) for arm in self.arms]

    @cached_property
    def lines(self) -> list[Line]:
        """Its settings in the order of nearest.yaml, without those nobody has.

        Raises UnknownName for a key in book/<paper>/settings.yaml that no arm has.
        """
        noted = settings_of(self.name)
        folder, _, page = self.name.partition("/")
        words_of = {source: noted.get(source, {}) for source in ("paper", "code")}
        for words in words_of.values():
            for key in words:
                where = f"setting in book/{folder}/settings.yaml, {page}:"
                choose(where, key, known_keys())
        lines = []
        for setting, definition in definitions().items():
            joined = {
                source: "; ".join(
                    words[key] for key in definition["keys"] if key in words
                )
                for source, words in words_of.items()
            }
            # by their JSON, as a pair is a list
            distinct = {json.dumps(v[setting]): v[setting] for v in self.arm_values}
            here = tuple(value for value in distinct.values() if value is not None)
            if here or any(joined.values()):
                lines.append(Line(setting, **joined, here=here))
        return lines

    def differing(self, source: str) -> list[str]:
        """Return the settings in which it differs from the "paper" or the "code"."""
        return [line.setting for line in self.lines if line.differs(source)]

    def states(self, source: str) -> bool:
        """Return whether the "paper" or the "code" says anything of its settings."""
        return any(getattr(line, source) for line in self.lines)

    @property
    def page(self) -> Entry | None:
        """The page of the experiment: its own, else one of its folder, else any."""
        folder = self.name.partition("/")[0]
        return min(
            self.pages,
            key=lambda page: (not self.name.startswith(page.id), page.paper != folder),
            default=None,
        )

    @property
    def label(self) -> str:
        """Where it is: "Prieto et al. 2025, Figure 1"."""
        if self.page is None:
            return folder_name(self.name.partition("/")[0])
        return f"{folder_name(self.page.paper)}, {self.page.label}"

    @property
    def recipe(self) -> str:
        """What its arms were trained with, in one line."""
        return tables.recipe(self.arms)

    def choices(self, setting: str) -> str:
        """Return the values of a setting for browse.js, "|" between kinds of arm."""
        return "|".join(token(kind[setting]) for kind in self._kinds)

    @cached_property
    def _kinds(self) -> list[dict[str, str]]:
        """The distinct arms by the settings that the table is filtered by."""
        kinds: list[dict[str, str]] = []
        for arm_values in self.arm_values:
            kind = {setting: shown(arm_values[setting]) for setting in FILTERED}
            if kind not in kinds:
                kinds.append(kind)
        return kinds


def token(words: str) -> str:
    """Return a value as one word, for the address of a choice."""
    return re.sub(r"[\s|]+", "-", words)


# The page -----------------------------------------------------------------------------


def collected(
    entries: Iterable[Entry], experiments: Iterable[str]
) -> tuple[list[Row], list[dict[str, Any]]]:
    """Return a row for each experiment that has a record, and a dict for each arm.

    The dict has where the arm is, its `values` and its `outcome`. An arm whose runs
    earlier arms have too, of the same settings and seeds, is left out.
    """
    readers: dict[str, dict[str, Entry]] = {}  # by experiment, then by page
    for entry in entries:
        for read in entry.closing.get("read", ()):
            readers.setdefault(read["record"], {})[entry.id] = entry
    rows: dict[str, Row] = {}
    runs = []
    listed: set[tuple[str, int]] = set()  # what was trained, and seeds
    for name, scale in product(experiments, ("paper", "laptop")):
        plan = papers.get(name, scale)
        members = records.recorded(plan)
        if not members:
            continue
        seeds: dict[str, list[int]] = {}
        for member in members:
            arm_name, _, seed = member.rpartition("|")
            seeds.setdefault(arm_name, []).append(int(seed))
        rows.setdefault(name, Row(plan, seeds, [*readers.get(name, {}).values()]))
        fresh = []
        for arm in plan.arms:
            own = {(arm.training_key, seed) for seed in seeds.get(arm.name, ())}
            if own - listed:
                listed |= own
                fresh.append(arm)
        plan = replace(plan, arms=tuple(fresh))
        digests = [meta["digest"] for meta in members.values()]
        outcome_of = outcomes(plan, digests) if fresh else {}
        for arm in fresh:
            place = {"experiment": name, "arm": arm.name, "scale": scale}
            runs.append(place | values(arm) | outcome_of[arm.name])
    return list(rows.values()), runs


def index(rows: Iterable[Row], runs: Sequence[Mapping[str, Any]]) -> str:
    """Return what nearest.js searches, as JSON that can stand in a script of a page."""
    places = {
        row.name: [row.label, f"../{row.page.document}.html" if row.page else ""]
        for row in rows
    }
    content = {"settings": definitions(), "experiments": places, "runs": packed(runs)}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", "<\\/")


def links(entries: Iterable[Entry], rows: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """Return by document the address of its rows on the page Settings, and words.

    The words count the settings that differ from the paper in the experiments that the
    main claim of a page rests on.
    """
    row_of = {row.name: row for row in rows}
    link_of = {}
    for entry in entries:
        runs = [
            r for claim in entry.claims if claim["main"] for r in claim.get("runs", ())
        ]
        names = {run.partition("|")[0] for run in runs}
        main = [row_of[name] for name in names if name in row_of]
        count = len({setting for row in main for setting in row.differing("paper")})
        if count:
            words = f"differs from the paper in {count} setting{'s' * (count > 1)}"
        elif any(row.states("paper") for row in main):
            words = "as in the paper where it states a setting"
        else:
            words = "all settings"
        address = f"../generated/settings.html#page={entry.id}"
        link_of[entry.document] = address, words
    return link_of


def filters(entries: Iterable[Entry], rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Return the filters of the table by name: each choice, and its words."""
    readers = {entry.id for row in rows for entry in row.pages}
    words_of = {
        "page": {
            entry.id: f"{folder_name(entry.paper)}, {entry.label}"
            for entry in entries
            if entry.id in readers
        }
    }
    for setting in FILTERED:
        every_value = [v[setting] for row in rows for v in row.arm_values]
        present = [value for value in every_value if value is not None]
        if definitions()[setting]["kind"] == "number":
            present.sort()
        words_of[setting] = {token(shown(value)): shown(value) for value in present}
    return words_of


def write(entries: Sequence[Entry]) -> dict[str, tuple[str, str]]:
    """Write the page, and return `links` to it for the pages that it compares."""
    rows, runs = collected(entries, papers.names())
    arguments = filters(entries, rows), definitions(), index(rows, runs)
    text = catalogue.render("settings", rows, *arguments)
    write_if_changed(home() / "book" / "generated" / "settings.md", text)
    return links(entries, rows)
