"""Does the learner agree with a CPU here?

    python benchmarks/gpu/check.py cuda [seconds]
    python benchmarks/gpu/check.py cpu [seconds]     a rehearsal without a GPU

Few arms that have together all that can be in a step, each at its paper's size (there
transformers take branches that no smoke test reaches) and for six steps: two seeds one
by one on the CPU, then the same two stacked on the device. "cpu" stacks them on the CPU
in the forms of a GPU. Arms with the most that is new come first, and large networks
last, so that little is missed when the time is over.
"""

import math
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace

from claimbook import canonical, papers
from claimbook.engine import build, loop
from claimbook.errors import DataError
from claimbook.experiment import Arm, Member, Result
from grokbook import losses

STEPS = 6
TABLE_TOKENS = 1024  # up to so many tokens no gradient of a table sorts
ALIKE = 1e-5
COLUMNS_SHOWN = 4


def traits(arm: Arm) -> frozenset[tuple]:
    """Return all that decides what a step of an arm computes, but sizes and rates."""
    found: set[tuple] = {("dtype", arm.dtype), ("autocast", arm.autocast)}
    found |= {("factor", arm.alpha != 1), ("batches", arm.batch_size is None)}
    for field, spec in arm.specs():
        kind = canonical.KINDS[field]
        if kind == "dataset":
            continue
        found.add((kind, spec.name))
        for option, value in spec.options.items():
            if option == "vocabulary":
                found.add((spec.name, option, value <= TABLE_TOKENS))
            elif isinstance(value, bool | str) or option == "norms":
                found.add((spec.name, option, str(value)))
            elif kind not in ("model", "optimizer"):
                found.add((spec.name, option))
    return frozenset(found)


def covering() -> Iterator[Arm]:
    """Yield few arms of all papers, at paper scale, that have all traits together.

    The next is the one with the most traits that none before it has.
    """
    arms = [arm for name in papers.names() for arm in papers.get(name, "paper").arms]
    left = {traits(arm): arm for arm in arms}
    while left:
        most = max(left, key=len)
        yield left.pop(most)
        left = {new - most: arm for new, arm in left.items() if new - most}


def is_large(arm: Arm) -> bool:
    """Whether six steps of an arm may take a CPU minutes."""
    depth = arm.model.options.get("depth", 1)
    return depth > 1 or arm.model.name not in ("mlp", "transformer", "free_features")


def short(arm: Arm) -> Arm:
    """Return the arm for a few steps, measured at its start, its middle and its end."""
    later_loss = arm.later_loss and (STEPS // 2, arm.later_loss.loss)
    nothing = {"keep": (), "trace": False, "stop": None, "rarely": None}
    changes = {"epochs": STEPS, "log": STEPS // 2, "later_loss": later_loss}
    return replace(arm, **changes | nothing)


def trained(members: list[Member], device: str, stacked: bool) -> list[Result]:
    """Return the results of members, together or one after the other."""
    groups = [members] if stacked else [[member] for member in members]
    results: list[Result] = []
    for group in groups:
        results += loop.train(group, device=device, stacked=stacked) or []
    return results


def in_the_forms_of_a_gpu(members: list[Member], device: str) -> list[Result]:
    """Return the results of members on the device, stacked where they can be."""
    asked = losses.on_gpu
    if device == "cpu":
        losses.on_gpu = lambda _: True
    try:
        is_stack = not build.trains_alone(members[0][0])
        return trained(members, device, is_stack)
    finally:
        losses.on_gpu = asked


def difference(x: float, y: float) -> float:
    """Return the relative difference of two numbers, which near 0 is an absolute one.

    That of two NaN is 0, that of a NaN and a number is infinite.
    """
    if x == y or (math.isnan(x) and math.isnan(y)):
        return 0.0
    relative = abs(x - y) / max(abs(x), abs(y), 1e-3)
    return math.inf if math.isnan(relative) else relative


def differences(one: list[Result], other: list[Result]) -> dict[str, float]:
    """Return the largest difference by column, infinite where columns are not alike."""
    largest: dict[str, float] = {}
    for a, b in zip(one, other, strict=True):
        for row, twin in zip(a.rows, b.rows, strict=True):
            for column in row.keys() | twin.keys():
                is_in_both = column in row and column in twin
                off = difference(row[column], twin[column]) if is_in_both else math.inf
                largest[column] = max(largest.get(column, 0.0), off)
    return largest


def compare(arm: Arm, device: str) -> str:
    """Return what is found of one arm: seconds on either side and what differs."""
    members = [(short(arm), seed) for seed in (0, 1)]
    began = time.time()
    on_cpu = trained(members, "cpu", stacked=False)
    middle = time.time()
    here = in_the_forms_of_a_gpu(members, device)
    spent = f"{middle - began:.1f} + {time.time() - middle:.1f} s"
    worst = sorted(differences(on_cpu, here).items(), key=lambda pair: -pair[1])
    told = [f"{name} {off:.0e}" for name, off in worst[:COLUMNS_SHOWN] if off > ALIKE]
    return f"{spent}, {', '.join(told) or f'alike to {ALIKE:.0e}'}"


def main(device: str = "cuda", seconds: str = "130") -> int:
    """Compare arms until the time is over; return 1 if one failed, else 0."""
    end = time.time() + float(seconds)
    heard: list[str] = []
    warnings.showwarning = lambda message, *_, **__: heard.append(str(message))
    compared, failed, skipped, left = 0, 0, 0, 0
    for arm in sorted(covering(), key=is_large):
        if time.time() > end:
            left += 1
            continue
        heard.clear()
        try:
            told = compare(arm, device)
            compared += 1
        except DataError:
            told = "its data are not here"
            skipped += 1
        except Exception as error:  # the next arm may do better
            told = f"FAILED {type(error).__name__}: {error}"
            failed += 1
        warned = "; ".join(dict.fromkeys(heard))
        line = f"{arm.model.name:12} {arm.name[:40]:40} {told} {warned}"
        print(line[:260], flush=True)
    print(
        f"{compared} arms compared, {failed} failed, {skipped} without data, "
        f"{left} left for want of time"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
