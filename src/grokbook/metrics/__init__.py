"""Measurements of networks, by what they measure: pure functions of tensors.

    logits      accuracy, margins, softmax collapse, feature inflation
    vectors     norms, alignment with the gradient, absorbed steps, radial gradients
    spectra     Fourier modes of a weight, eigenvalues of features, effective ranks
    circuits    Fourier modes of embeddings and activations, entropy of attention
    curvature   the Hessian of a loss: largest eigenvalue, trace
    geometry    how near features and head are to neural collapse

They return 0-dim float64 tensors and work under ``torch.func.vmap`` unless said
otherwise. Nothing here trains, draws or reads a file.
"""

from grokbook.metrics.circuits import *
from grokbook.metrics.curvature import *
from grokbook.metrics.geometry import *
from grokbook.metrics.logits import *
from grokbook.metrics.spectra import *
from grokbook.metrics.vectors import *
