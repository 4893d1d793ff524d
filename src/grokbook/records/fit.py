"""Whose training is it: the members of a record beside the arms of today's code.

A member is up to date when its training key is that of an arm of today, whatever the
arm is called and whatever is looked at. Otherwise it is *stale*.
"""

from collections.abc import Mapping

from grokbook.experiment import LOOKS, Experiment
from grokbook.records.table import Meta, member, parts


def fit(experiment: Experiment, members: Mapping[str, Meta]) -> dict[str, str]:
    """Each recorded member that is up to date, with the key of the member it is today.

    By its name where that still says the same training; else, as after a renaming, it
    goes to the first arm of that training key that has no record of its own.
    """
    today = {arm.name: arm.training_key() for arm in experiment.arms}
    fits = {
        key: key
        for key, about in members.items()
        if today.get(parts(key)[0]) == about["training_key"]
    }
    taken = set(fits)
    for key, about in members.items():
        if key in fits:
            continue
        seed = parts(key)[1]
        same = [arm for arm, found in today.items() if found == about["training_key"]]
        free = [member(arm, seed) for arm in same if member(arm, seed) not in taken]
        if free:
            fits[key] = free[0]
            taken.add(free[0])
    return {key: fits[key] for key in members if key in fits}


def changed(experiment: Experiment, meta: Meta, key: str) -> str:
    """What a stale member was trained with and the code no longer says."""
    name = parts(key)[0]
    today = {arm.name: arm.to_json() for arm in experiment.arms}
    if name not in today:
        return f"its arm {name!r} no longer exists"
    recorded = {arm["name"]: arm for arm in meta["experiment"]["arms"]}
    before, now = recorded.get(name, {}), today[name]
    told = [
        f"{setting} was {before.get(setting, 'default')!r} and is now "
        f"{now.get(setting, 'default')!r}"
        for setting in sorted((before.keys() | now.keys()) - LOOKS)
        if before.get(setting) != now.get(setting)
    ]
    return f"arm {name!r}: {'; '.join(told) or 'its settings changed'}"
