"""The table of all runs says of each what the definitions of the pages say."""

import math

import pytest
from helpers import arm, experiment
from recorded import result

from book._ext import runs
from claimbook import records
from claimbook.evidence import Run

CURVES = {  # accuracies of a run at epochs 0, 10, 20 and 30
    "stays": [0.1, 0.2, 0.99, 1.0],
    "falls back": [0.1, 1.0, 0.5, 0.99],
    "lost at the end": [0.1, 1.0, 1.0, 0.98],
    "never": [0.1, 0.1, 0.2, 0.9],
    "became NaN": [0.1, 0.99, 1.0, 1.0],
}


@pytest.fixture
def record(tmp_path, monkeypatch):
    """An experiment with an arm for each curve."""
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    looks = {"log": 10, "through_nan": True}
    arms = (arm(name, alpha=2.0 + at, **looks) for at, name in enumerate(CURVES))
    plan = experiment(*arms, seeds=(0,))
    for one in plan.arms:
        made = result(one, 0)
        for row, accuracy in zip(made.rows, CURVES[one.name], strict=True):
            row |= {"test_accuracy": accuracy, "train_accuracy": accuracy}
            row["test_loss"] = row["train_loss"]
        if one.name == "became NaN":
            made.rows[2]["train_loss"] = math.nan
        records.add(plan, made)
    records.write_index([plan])
    return records.load(plan)


def test_events_are_those_of_the_pages(record):
    table = runs.table_of(runs.records_folder())
    assert len(table) == len(CURVES) and set(table["rate"]) == {0.01}
    assert {one["name"] for one in runs.fields(table)} == {*table}
    ends = table.set_index("arm")
    for name in CURVES:
        run, row = Run(record, name), ends.loc[name]
        found = {
            "fitted": run.fitted(accuracy=runs.LEVEL)[0],
            "reached": run.reaches(accuracy=runs.LEVEL)[0],
            "generalised": run.generalises(accuracy=runs.LEVEL)[0],
        }
        assert row[[*found]].fillna(math.inf).to_dict() == found, name
    assert ends.loc["became NaN", runs.CURVES].isna().all()
    assert ends["best_test_accuracy"].tolist() == [1.0, 1.0, 1.0, 0.9, 0.99]
    assert runs.version(table).startswith(table["finished"][0][:4])
