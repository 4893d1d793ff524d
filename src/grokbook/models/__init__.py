"""Networks of the four papers, each written for one network, without any training.

``MLP``, ``Transformer`` (with ``gpt2``) and ``ResNet18`` are called as ``model(x,
tap)``; ``taps`` says what a tap is, ``fast`` holds the shortcuts taken without one.
"""

from grokbook.models import fast, taps
from grokbook.models.convnets import ResNet18
from grokbook.models.mlp import ACTIVATIONS, MLP
from grokbook.models.taps import Dropout, Recorder
from grokbook.models.transformer import (
    INITIALISATIONS,
    NORM_POSITIONS,
    NORMS,
    Transformer,
    gpt2,
    without_norms,
)

__all__ = [
    "ACTIVATIONS",
    "INITIALISATIONS",
    "MLP",
    "NORMS",
    "NORM_POSITIONS",
    "Dropout",
    "Recorder",
    "ResNet18",
    "Transformer",
    "fast",
    "gpt2",
    "taps",
    "without_norms",
]
