"""The page Settings: what every experiment was trained with, and what its runs did.

A row compares an experiment with its paper and the official code, as far as
book/<paper>/settings.yaml says what these have. Below the table a reader's own setting
is looked for among all recorded runs: nearest.js does so in the browser, in the index
that `packed` makes. nearest.yaml, beside this file, names the settings.
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
from book._ext.entries import Entry, named, stated, update
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
def known() -> set[str]:
    """The names that book/<paper>/settings.yaml may use: what any arm has."""
    found = {"seeds"}
    for name in papers.names():
        for arm in papers.get(name, "paper").arms:
            schedule = arm.schedule.options if arm.schedule else ()
            found |= {
                *tables.settings_in_words(arm),
                *(f"schedule.{option}" for option in schedule),
            }
    return found


@cache
def names() -> dict[str, dict[str, Any]]:
    """What each setting is called, see book/_ext/nearest.yaml."""
    return stated("book/_ext/nearest.yaml")


def values(arm: Arm) -> dict[str, Any]:
    """The settings of an arm by name, with defaults; None where it has no such."""
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
        "added": ", ".join(added(arm)) or "nothing",
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
    """Which norm a network has and where: "layer norm before the MLP", or "no norm".

    None if the options of a network, such as GPT-2, leave no choice of it.
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


def added(arm: Arm) -> Iterator[str]:
    """What an arm adds to a plain training, in words."""
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
    """What the runs of an arm did: medians and ranges over their seeds, in words."""
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
    """The `outcome` of each recorded arm of an experiment, by its name.

    Reading all records takes a minute. So what they say is kept in _build/outcomes, for
    as long as the ``digests`` of the members, plan and definitions stay the same.
    """
    definitions = sorted(Path(evidence.__file__).parent.glob("*.py"))
    parts = [path.read_text(encoding="utf-8") for path in definitions]
    parts += [getsource(outcome), json.dumps([plan.as_plain(), *digests])]
    name = f"{sha256(''.join(parts).encode()).hexdigest()[:16]}.json"
    path = home() / "_build" / "outcomes" / name
    if not path.is_file():
        record = records.load(plan)
        frames = dict(iter(record.frame[[*COLUMNS]].groupby("arm")))
        found = {  # a record of one arm is quick to search
            arm: outcome(Run(replace(record, frame=frame), arm))
            for arm, frame in frames.items()
        }
        update(path, json.dumps(found))
    return json.loads(path.read_text(encoding="utf-8"))


def packed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows with the same keys by column: distinct values, and which one each row has.

    nearest.js unpacks them. So 1,300 runs take a fifth of the room.
    """
    columns = {}
    for key in rows[0] if rows else ():
        texts = [json.dumps(row[key]) for row in rows]
        place = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        distinct = [json.loads(text) for text in place]
        columns[key] = {"of": distinct, "at": [place[text] for text in texts]}
    return columns


# Beside the paper ---------------------------------------------------------------------


def said(setting: str, words: str) -> set[Any]:
    """What words of a paper or of a code say of a setting; empty if nothing is clear.

    "0.01, and 0.02 in (c)" says two rates, "softmax; StableMax" two losses, and "lost
    in our copy" none.
    """
    kind = names()[setting]["kind"]
    if kind == "class":
        classes = names()[setting]["words"]
        pattern = "|".join(f"({one})" for one in classes.values())
        matches = re.finditer(pattern, words.replace("_", " "), re.I)
        return {list(classes)[(match.lastindex or 1) - 1] for match in matches}
    if RELATIVE.search(words):
        return set()
    if kind == "pair":
        pairs = re.findall(r"\(([^()]*,[^()]*)\)", words)
        return {tuple(numbers(pair)) for pair in pairs}
    found: set[Any] = set(numbers(words))
    if kind == "batch" and "full" in words:
        found.add("all rows")
    return found | ({0.0} if re.search(r"\bnone\b", words) else set())


def numbers(words: str) -> list[float]:
    """All numbers in a text: "0.4, 2,000 and 1e-8" has three."""
    return [float(number.replace(",", "")) for number in NUMBER.findall(words)]


@dataclass(frozen=True)
class Line:
    """One setting of an experiment, as paper and code state it, and as it is here."""

    setting: str
    paper: str  # "" if it says nothing
    code: str
    here: tuple[Any, ...]  # distinct values, in the order of the arms

    def differs(self, source: str) -> bool:
        """Whether no run here has a value that the "paper" or the "code" states."""
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
    """A value of a setting as all tables show it."""
    if isinstance(value, list):
        return f"({', '.join(map(shown, value))})"
    return number(value) if isinstance(value, float | int) else str(value)


@dataclass(frozen=True)
class Row:
    """One experiment at its best scale, the seeds recorded, the pages that read it."""

    plan: Experiment
    seeds: Mapping[str, Sequence[int]]  # by arm
    pages: Sequence[Entry]

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def arms(self) -> list[Arm]:
        """The arms that were trained, with at least one seed."""
        return [arm for arm in self.plan.arms if self.seeds.get(arm.name)]

    @cached_property
    def each(self) -> list[dict[str, Any]]:
        """The settings of each of its arms."""
        return [values(arm) for arm in self.arms]

    @cached_property
    def lines(self) -> list[Line]:
        """Its settings in the order of nearest.yaml, without those nobody has.

        Raises UnknownName for a setting in book/<paper>/settings.yaml that is none.
        """
        noted = settings_of(self.name)
        paper, code = noted.get("paper", {}), noted.get("code", {})
        folder, _, page = self.name.partition("/")
        for key in (*paper, *code):
            choose(f"setting in book/{folder}/settings.yaml, {page}:", key, known())
        lines = []
        for setting, about in names().items():
            found = {json.dumps(one[setting]): one[setting] for one in self.each}
            here = tuple(value for value in found.values() if value is not None)
            in_paper, in_code = (_joined(x, about["keys"]) for x in (paper, code))
            line = Line(setting, in_paper, in_code, here)
            if line.paper or line.code or line.here:
                lines.append(line)
        return lines

    def differing(self, source: str) -> list[str]:
        """The settings in which it differs from the "paper" or the "code"."""
        return [line.setting for line in self.lines if line.differs(source)]

    def states(self, source: str) -> bool:
        """Whether paper or code is known to say anything of these settings."""
        return any(getattr(line, source) for line in self.lines)

    @property
    def page(self) -> Entry | None:
        """The page of the experiment: its own, else one of its chapter, else any."""
        folder = self.name.partition("/")[0]
        ranked = sorted(
            self.pages,
            key=lambda e: (not self.name.startswith(e.id), e.paper != folder),
        )
        return ranked[0] if ranked else None

    @property
    def label(self) -> str:
        """Where it is: `Prieto et al. 2025, Figure 1`."""
        if self.page is None:
            return named(self.name.partition("/")[0])
        return f"{named(self.page.paper)}, {self.page.label}"

    @property
    def recipe(self) -> str:
        return tables.recipe(self.arms)

    def choices(self, setting: str) -> str:
        """The values of a setting for browse.js, one for each kind of arm."""
        return "|".join(token(kind[setting]) for kind in self._kinds)

    @cached_property
    def _kinds(self) -> list[dict[str, str]]:
        """The distinct arms by the settings that the table is filtered by."""
        every = [{k: shown(each[k]) for k in FILTERED} for each in self.each]
        return [kind for at, kind in enumerate(every) if kind not in every[:at]]


def _joined(words: Mapping[str, str], keys: Iterable[str]) -> str:
    return "; ".join(words[key] for key in keys if key in words)


def token(words: str) -> str:
    """A value as one word, for the address of a choice."""
    return re.sub(r"[\s|]+", "-", words)


# The page -----------------------------------------------------------------------------


def collected(
    found: Iterable[Entry], experiments: Iterable[str]
) -> tuple[list[Row], list[dict[str, Any]]]:
    """A row for each experiment that has a record, and one for each kind of run.

    Runs that an earlier row has too, of the same settings and seeds, are listed once.
    """
    pages: dict[str, dict[str, Entry]] = {}
    for entry in found:
        for about in entry.carried.get("read", ()):
            pages.setdefault(about["record"], {})[entry.id] = entry
    rows: dict[str, Row] = {}
    runs = []
    listed: set[tuple[str, int]] = set()
    for name, scale in product(experiments, ("paper", "laptop")):
        plan = papers.get(name, scale)
        members = records.recorded(plan)
        if not members:
            continue
        seeds: dict[str, list[int]] = {}
        for arm_name, _, seed in (member.rpartition("|") for member in members):
            seeds.setdefault(arm_name, []).append(int(seed))
        rows.setdefault(name, Row(plan, seeds, [*pages.get(name, {}).values()]))
        fresh = []
        for arm in plan.arms:
            own = {(arm.training_key, seed) for seed in seeds.get(arm.name, ())}
            if own - listed:
                listed |= own
                fresh.append(arm)
        plan = replace(plan, arms=tuple(fresh))
        digests = [meta["digest"] for meta in members.values()]
        did = outcomes(plan, digests) if fresh else {}
        for arm in fresh:
            about = {"experiment": name, "arm": arm.name, "scale": scale}
            runs.append(about | values(arm) | did[arm.name])
    return list(rows.values()), runs


def index(rows: Iterable[Row], runs: Sequence[Mapping[str, Any]]) -> str:
    """What nearest.js searches, as JSON that can stand in a script of a page."""
    places = {
        row.name: [row.label, f"../{row.page.document}.html" if row.page else ""]
        for row in rows
    }
    every = {"settings": names(), "experiments": places, "runs": packed(runs)}
    text = json.dumps(every, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", "<\\/")


def links(found: Iterable[Entry], rows: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """The document of a page -> its rows on the page Settings, and what they say.

    What differs is counted for the experiments that the main claim of a page rests on.
    """
    of = {row.name: row for row in rows}
    made = {}
    for entry in found:
        runs = [run for c in entry.claims if c["main"] for run in c.get("runs", ())]
        main = [of[n] for n in {run.partition("|")[0] for run in runs} if n in of]
        count = len({one for row in main for one in row.differing("paper")})
        if count:
            words = f"differs from the paper in {count} setting{'s' * (count > 1)}"
        elif any(row.states("paper") for row in main):
            words = "as in the paper where it states a setting"
        else:
            words = "all settings"
        made[entry.document] = f"../generated/settings.html#page={entry.id}", words
    return made


def filters(found: Iterable[Entry], rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """What the table can be filtered by: values, with what each is called."""
    read = {entry.id for row in rows for entry in row.pages}
    listed = [entry for entry in found if entry.id in read]
    chosen = {"page": {e.id: f"{named(e.paper)}, {e.label}" for e in listed}}
    for setting in FILTERED:
        every = [one[setting] for row in rows for one in row.each]
        if names()[setting]["kind"] == "number":
            every = sorted(value for value in every if value is not None)
        chosen[setting] = {token(shown(v)): shown(v) for v in every if v is not None}
    return chosen


def write(found: Sequence[Entry]) -> dict[str, tuple[str, str]]:
    """Write the page; returns `links` to it for the pages that it compares."""
    rows, runs = collected(found, papers.names())
    given = filters(found, rows), names(), index(rows, runs)
    text = catalogue.made("settings", rows, *given)
    update(home() / "book" / "generated" / "settings.md", text)
    return links(found, rows)
