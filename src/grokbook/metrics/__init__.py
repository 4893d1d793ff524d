"""Measurements of networks, by what they look at: pure functions of tensors.

    logits      accuracy, margins, softmax collapse, feature inflation
    weights     norms, alignment with the gradient, absorbed steps
    spectra     Fourier modes of a weight, eigenvalues of features, how few are filled
    radial      radial part of the gradients of activations
    circuits    Fourier modes of embeddings and activations, entropy of attention
    curvature   the Hessian of a loss: largest eigenvalue, trace

They return 0-dim float64 tensors and work under ``torch.func.vmap`` unless said
otherwise. Nothing here trains, draws or reads a file.
"""

from grokbook.metrics.circuits import attention_entropy, fourier_concentration, waves
from grokbook.metrics.curvature import largest_eigenvalue, probe_values, relu_trace
from grokbook.metrics.logits import (
    accuracy,
    class_sum,
    collapse_fraction,
    collapsed,
    feature_alignment,
    global_means,
    margins,
    residual_mass,
    top_accuracy,
    top_gap,
)
from grokbook.metrics.radial import radial_energy, shared_direction
from grokbook.metrics.shares import ratio, share
from grokbook.metrics.spectra import (
    effective_rank,
    fourier_spectrum,
    gram_eigenvalues,
    participation_ratio,
    power_law_exponent,
    stable_rank,
    top_share,
)
from grokbook.metrics.weights import (
    absorbed_fraction,
    cosine,
    joint_cosine,
    total_norm,
    update_norm,
)
