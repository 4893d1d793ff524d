# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 13]{.kicker} TITLE

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch
from pandas import Series

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
record = evidence.record("liu2026/fig13", arms=("float32",), **page)
names = ("float32", "float64 loss", "no batch norm", "learning rate 1e-4")
single, exact, plain, slow = [Run(record, name, name) for name in names]
for run, color in zip((single, exact, plain, slow), ("ResNet-18", "float64 loss"), strict=False):
    object.__setattr__(run, "color", plots.COLOUR[color])
