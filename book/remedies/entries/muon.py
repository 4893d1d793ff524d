"""Muon: steps of matrices with all singular values made about 1; AdamW for the rest.

The strength is 1 - momentum, so it is at most 1.
"""

from grokbook.optimizers import Muon

STRENGTH = 0.03
LARGEST = 1.0


def optimizer(params, lr, *, strength):
    return Muon(params, lr, momentum=1 - strength)
