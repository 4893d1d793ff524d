"""The order of training: most rows completed per core-hour first."""

import math
from types import SimpleNamespace

from helpers import arm, experiment

from book import order
from grokbook import papers, records

HOURS = {"a": 1.0, "b": 10.0, "c": 0.1, "x": 4.0, "y": 1.0, "?": math.inf}


def test_the_most_rows_an_hour_come_first():
    for rows, found in (
        # an arm that serves two rows, then what a third needs beside it
        (["a", "ab", "a", "c"], [("c", 1, 0.1), ("a", 2, 1.0), ("b", 1, 10.0)]),
        # two arms at once complete more an hour than the cheaper one first
        (["x", "xy", "xy"], [("xy", 3, 5.0)]),
        # nobody knows how long: last
        (["?", "?a", "b"], [("b", 1, 10.0), ("?a", 2, math.inf)]),
    ):
        steps = order.steps(map(frozenset, rows), HOURS)
        assert [("".join(sorted(r)), n, h) for r, n, h in steps] == found


def test_the_order_is_printed_as_commands(monkeypatch):
    arms = arm("A*", epochs=60), arm("b"), arm("done")
    plans = {
        "p/some": experiment(*arms, seeds=(42, 0, 1, 2), name="p/some"),
        "p/none": experiment(arm("c"), seeds=(1, 2, 3), name="p/none"),
        "p/few": experiment(arm("d"), seeds=(1, 2), name="p/few"),
    }
    hour = {"device": "cpu", "epochs": 30, "seconds": 3600.0}
    there = {f"done|{seed}": hour for seed in (42, 0, 1)} | {"b|0": hour}
    monkeypatch.setattr(papers, "get", lambda name, scale: plans[name])
    found = lambda plan: there if plan.name == "p/some" else {}  # noqa: E731
    monkeypatch.setattr(records, "recorded", found)
    some, b, done = "p/some|A*", "p/some|b", "p/some|done"
    rows = [[some, b], [b, done], [done], []]
    rows += [["p/none|c"], ["p/few|d"], ["p/some|gone"]]
    claims = [{"runs": runs} for runs in rows] + [{}]  # executed before runs were named
    assert list(order.lines([SimpleNamespace(claims=claims)])) == [
        "# 1 row: 2.00 core-hours, 2.0 so far",
        "grokbook run p/some --scale paper --record --seeds 42,1 --arms b",
        "# 1 row: 6.00 core-hours, 8.0 so far",
        "grokbook run p/some --scale paper --record --seeds 42,0,1 --arms 'A[*]'",
        "# 1 row: no estimate",
        "grokbook run p/none --scale paper --record --seeds 1,2,3 --arms c",
    ]
