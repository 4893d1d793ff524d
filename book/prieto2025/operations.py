"""What a run of table 1 costs, counted; two pages say which part of the paper's ours is."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from claimbook.experiment import Arm
from claimbook.names import options, resolve


def operations(arm: Arm) -> float:
    """Floating-point operations of a run in batches of images or of text.

    Three forward passes over every row that is seen; multiplying and adding are two.
    """
    size = arm.augment.options["size"] if arm.augment else 32
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        batch = torch.zeros(1, 3, size, size)
        if arm.dataset.name == "wikitext":
            batch = torch.zeros(1, arm.dataset.options.get("block", 512)).long()
        resolve("model", arm.model)(**options(arm.model)).eval()(batch)
    return 3.0 * counter.get_total_flops() * (arm.batch_size or 1) * arm.epochs
