"""Curvature of a loss L(w): its Hessian's largest eigenvalue and trace.

L is a function of **float64** parameters by name: the softmax of a fitted network is
rounded in float32, and the Hessian of what is left is indefinite. One network at a
time, not under vmap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Params = Mapping[str, Tensor]
Objective = Callable[[Params], Tensor]
ROWS = 128  # of a network that the exact trace takes at once


def largest_eigenvalue(
    objective: Objective,
    params: Params,
    *,
    preconditioner: Params | None = None,
    products: int = 50,
    tolerance: float = 1e-3,
) -> Tensor:
    """Most positive eigenvalue of H, or of P^(-1/2) H P^(-1/2), by Lanczos iteration.

        A q_k = b_(k-1) q_(k-1) + a_k q_k + b_k q_(k+1) with orthonormal q

    The latter is what a step divided by a diagonal P > 0 sees (Cohen et al. 2022,
    arXiv:2207.14484; Liu et al. 2026, figure 6). Gradient descent is stable below 2 /
    eta, Adam with P = sqrt(v_hat) + eps below (2 + 2 beta1) / ((1 - beta1) eta).
    The eigenvalues of the tridiagonal matrix of a and b approach those of A from
    inside. From one random start at most ``products`` products, fewer once an
    eigenvalue lies within tolerance * |value|, which for almost every start is the
    largest; where they do not suffice the value is a lower bound. NaN where H is not
    finite, or P not positive. Keeps products + 1 vectors as long as all parameters.
    """
    scale: float | Tensor = 1.0
    if preconditioner is not None:
        scale = _flat(preconditioner[name] for name in params).rsqrt()
    hessian, point = _hessian(objective, params)
    products, generator = min(products, len(point)), torch.Generator().manual_seed(0)
    start = torch.randn(len(point), generator=generator, dtype=point.dtype).to(point)
    basis = start.new_zeros(products + 1, len(start))
    basis[0] = start / start.norm()
    matrix = start.new_zeros(products + 1, products + 1)
    for k in range(products):
        image = scale * hessian(scale * basis[k])
        matrix[k, k] = image @ basis[k]
        # against all of the basis and twice: rounding brings back what was found before
        for _ in range(2):
            image = image - basis[: k + 1].T @ (basis[: k + 1] @ image)
        matrix[k, k + 1] = matrix[k + 1, k] = image.norm()
        if not matrix[k].isfinite().all():
            return start.new_tensor(torch.nan)
        values, vectors = torch.linalg.eigh(matrix[: k + 1, : k + 1])
        if image.norm() * vectors[-1, -1].abs() <= tolerance * values[-1].abs():
            break
        basis[k + 1] = image / image.norm()
    return values[-1]


def probe_values(objective: Objective, params: Params, *, probes: int) -> Tensor:
    """z^T H z (probes,) of signs z, whose mean is the trace of H (Hutchinson 1990)."""
    hessian, point = _hessian(objective, params)
    # on the CPU, so that every device has the same draws
    generator = torch.Generator().manual_seed(0)
    values = []
    for _ in range(probes):
        z = 2.0 * torch.randint(2, point.shape, generator=generator).to(point) - 1
        values.append(z @ hessian(z))
    return torch.stack(values)


def _hessian(
    objective: Objective, params: Params
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """v -> H v for vectors of all parameters after one another, and the parameters."""
    leaves = {name: w.detach().requires_grad_() for name, w in params.items()}
    inputs = list(leaves.values())
    with torch.enable_grad():
        value = objective(leaves)
        slope = _flat(torch.autograd.grad(value, inputs, create_graph=True))

    def product(vector: Tensor) -> Tensor:
        return _flat(torch.autograd.grad(slope, inputs, vector, retain_graph=True))

    return product, _flat(params.values())


def _flat(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


class ExactTrace(NamedTuple):
    """Trace of the Hessian of a mean cross-entropy, and of its empirical Fisher."""

    hessian: Tensor
    fisher: Tensor


def relu_trace(
    inputs: Tensor,
    weights: Sequence[Tensor],
    hidden: Sequence[Tensor],
    logits: Tensor,
    labels: Tensor,
    *,
    bias: bool,
) -> ExactTrace:
    """tr H of a ReLU network's mean cross-entropy, without a second derivative.

        tr H = mean_rows sum_l (|a_l|^2 + 1) tr(B_l^T (diag p - p p^T) B_l)

    a_l is what layer l reads, B_l = d logits / d (what it gives), p the softmax; the 1
    stands for its bias. The logits are linear in every single weight, so second
    derivatives of the network itself have no part in the trace, wherever no
    pre-activation is exactly 0. The empirical Fisher has |B_l^T (p - y)|^2 in place of
    the inner trace (Tiwari et al. 2026, proposition 4.3). In float64.

    ``inputs`` (rows,): squared lengths of what the network reads; ``weights`` (outputs,
    inputs) of all layers but the first; ``hidden`` (rows, width): what those read,
    after the ReLU; ``bias``: whether all layers have one.
    """
    squares = [inputs, *(a.double().square().sum(dim=-1) for a in hidden)]
    squares = [s.double() + bias for s in squares]
    wide = [w.double() for w in weights]
    totals = logits.new_zeros(2, dtype=torch.float64)
    unit = torch.eye(logits.shape[-1], dtype=torch.float64, device=logits.device)
    for rows in torch.arange(len(logits), device=logits.device).split(ROWS):
        p = logits[rows].double().softmax(dim=-1)[:, None]  # (rows, 1, classes)
        # against the label's own row: all differences are as small as 1 - p
        back = unit - unit[labels[rows]][:, None]
        for k in range(len(hidden), -1, -1):
            slope = (p @ back)[:, 0]
            fisher = slope.square().sum(dim=-1)
            spread = (p @ back.square())[:, 0].sum(dim=-1) - fisher
            totals += torch.stack([squares[k][rows] @ x for x in (spread, fisher)])
            if k:
                back = back @ wide[k - 1] * (hidden[k - 1][rows] > 0)[:, None]
    return ExactTrace(*(totals / len(logits)))
