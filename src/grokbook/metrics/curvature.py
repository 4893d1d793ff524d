"""Curvature of a loss L(w): products with its Hessian H, largest eigenvalue, trace.

    H v          = grad_w (grad_w L . v)          second derivatives by double backward
    lambda_max   of H, or of P^(-1/2) H P^(-1/2) for a diagonal P > 0: what a step
                 divided by P sees (Cohen et al. 2022, arXiv:2207.14484; Liu et al.
                 2026, figure 6). Gradient descent is stable below 2 / eta, Adam with
                 P = sqrt(v_hat) + eps below (2 + 2 beta1) / ((1 - beta1) eta)
    tr H         = E z^T H z for random signs z (Hutchinson 1990); of a ReLU network
                 without norms also exactly, in one pass

L is a function of a dictionary of parameters. Its gradient is built once per call, with
its graph, and every product goes through that graph. **Pass float64**: the softmax of a
fitted network is rounded in float32, and the Hessian of what is left is indefinite. A
fast path that cannot be differentiated twice has no place in L. One network at a time,
not under vmap; negative curvature and inner eigenvalues are not covered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from grokbook.shapes import Scalar


Params = Mapping[str, Tensor]
Objective = Callable[[Params], Tensor]


class Eigenvalue(NamedTuple):
    """An eigenvalue lies within ``error`` of ``value``, found with so many products."""

    value: Scalar
    error: Scalar
    products: int


class Trace(NamedTuple):
    """Mean over probes and its standard error (NaN of a single probe)."""

    mean: Scalar
    error: Scalar


def hessian_products(
    objective: Objective, params: Params
) -> Callable[[Params], dict[str, Tensor]]:
    """v -> H v at ``params``, with their names, shapes and dtypes; also in ``no_grad``.

    ValueError unless the objective is one number that depends on its parameters.
    """
    leaves = {name: w.detach().requires_grad_() for name, w in params.items()}
    inputs = list(leaves.values())
    with torch.enable_grad():
        value = objective(leaves)
        if value.numel() != 1:
            raise ValueError(f"The objective is one number, not {value.shape}.")
        if not value.requires_grad:
            raise ValueError("The objective does not depend on its parameters.")
        slopes = torch.autograd.grad(
            value, inputs, create_graph=True, materialize_grads=True
        )
    bent = [k for k, slope in enumerate(slopes) if slope.requires_grad]

    def product(vector: Params) -> dict[str, Tensor]:
        if not bent:  # a linear objective
            return {name: torch.zeros_like(w) for name, w in params.items()}
        directions = [vector[name] for name in leaves]
        images = torch.autograd.grad(
            [slopes[k] for k in bent],
            inputs,
            [directions[k] for k in bent],
            retain_graph=True,
            materialize_grads=True,
        )
        return dict(zip(leaves, images, strict=True))

    return product


def largest_eigenvalue(
    objective: Objective,
    params: Params,
    *,
    preconditioner: Params | None = None,
    products: int = 50,
    tolerance: float = 1e-3,
    seed: int = 0,
) -> Eigenvalue:
    """Most positive eigenvalue of H, or of P^(-1/2) H P^(-1/2), by Lanczos iteration.

    From a random start drawn with ``seed``, at most ``products`` products, fewer once
    the residual ``error`` is at most tolerance * |value|; where it is not, the products
    did not suffice and the value is a lower bound. The residual bounds the distance to
    *some* eigenvalue; that it is the largest holds for almost every start, and other
    seeds confirm it. NaN where H is not finite, or P not positive. Keeps products + 1
    float64 vectors as long as all parameters together.
    """
    if products < 1:
        raise ValueError(f"Lanczos iteration needs at least 1 product, not {products}.")
    scale: float | Tensor = 1.0
    if preconditioner is not None:
        scale = _flatten({name: preconditioner[name] for name in params}).rsqrt()
    hessian, where = _flat_hessian(objective, params)

    def apply(vector: Tensor) -> Tensor:
        return scale * hessian(scale * vector)

    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(len(where), generator=generator, dtype=torch.float64)
    return _lanczos(apply, start.to(where), products, tolerance)


def hutchinson_trace(
    objective: Objective, params: Params, *, probes: int = 100, seed: int = 0
) -> Trace:
    """Trace of H, from ``probes`` vectors of signs; a diagonal H needs one."""
    values = probe_values(objective, params, probes=probes, seed=seed)
    # of one probe: 0 / 0
    variance = (values - values.mean()).square().sum() / (probes - 1 or torch.nan)
    return Trace(values.mean(), (variance / probes).sqrt())


def probe_values(
    objective: Objective, params: Params, *, probes: int, seed: int = 0
) -> Float[Tensor, " probes"]:
    """z^T H z of each vector of signs, whose mean is the trace of H."""
    if probes < 1:
        raise ValueError(f"A trace needs at least 1 probe, not {probes}.")
    # on the CPU, so that every device has the same draws
    generator = torch.Generator().manual_seed(seed)
    (hessian, where), values = _flat_hessian(objective, params), []
    for _ in range(probes):
        z = 2.0 * torch.randint(2, (len(where),), generator=generator).to(where) - 1
        values.append(z @ hessian(z))
    return torch.stack(values)


class ExactTrace(NamedTuple):
    """Trace of the Hessian of a mean cross-entropy, and of its empirical Fisher."""

    hessian: Scalar
    fisher: Scalar


def relu_trace(
    inputs: Float[Tensor, " rows"],
    weights: Sequence[Float[Tensor, "_outputs _inputs"]],
    hidden: Sequence[Float[Tensor, "rows _width"]],
    logits: Float[Tensor, "rows classes"],
    labels: Int[Tensor, " rows"],
    *,
    bias: bool | Sequence[bool] = True,
    at_once: int = 128,
) -> ExactTrace:
    """tr H of a ReLU network's mean cross-entropy, without a second derivative.

        tr H = mean_rows sum_l (|a_l|^2 + 1) tr(B_l^T (diag p - p p^T) B_l)

    a_l is what layer l reads, B_l = d logits / d (what it gives), p the softmax; the 1
    stands for its bias. The logits are linear in every single weight, so second
    derivatives of the network itself have no part in the trace, wherever no
    pre-activation is exactly 0. The empirical Fisher has |B_l^T (p - y)|^2 in place of
    the inner trace (Tiwari et al. 2026, proposition 4.3).

    ``inputs``: squared lengths of the rows that the network reads; ``weights`` of all
    layers but the first; ``hidden``: what those layers read, after the ReLU; ``bias``:
    whether all layers have one, or which. In float64, ``at_once`` rows at a time.
    """
    biases = [bias] * (len(hidden) + 1) if isinstance(bias, bool) else bias
    squares = [inputs.double(), *(a.double().square().sum(dim=-1) for a in hidden)]
    squares = [s + has_bias for s, has_bias in zip(squares, biases, strict=True)]
    wide = [w.double() for w in weights]
    totals = logits.new_zeros(2, dtype=torch.float64)
    unit = torch.eye(logits.shape[-1], dtype=torch.float64, device=logits.device)
    for rows in torch.arange(len(logits), device=logits.device).split(at_once):
        p = logits[rows].double().softmax(dim=-1)[:, None]  # (rows, 1, classes)
        # against the label's own row: all differences are as small as 1 - p
        back = unit - unit[labels[rows]][:, None]
        for k in range(len(hidden), -1, -1):
            slope = (p @ back)[:, 0]
            fisher = slope.square().sum(dim=-1)
            spread = (p @ back.square())[:, 0].sum(dim=-1) - fisher
            totals += torch.stack(
                [(squares[k][rows] * part).sum() for part in (spread, fisher)]
            )
            if k:
                back = back @ wide[k - 1] * (hidden[k - 1][rows] > 0)[:, None]
    return ExactTrace(*(totals / len(logits)))


def _lanczos(
    apply: Callable[[Tensor], Tensor], start: Tensor, products: int, tolerance: float
) -> Eigenvalue:
    """Largest Ritz value of a symmetric linear map, from a start vector (n,).

    A q_k = b_(k-1) q_(k-1) + a_k q_k + b_k q_(k+1) with orthonormal q; the eigenvalues
    of the tridiagonal matrix of a and b approach those of A from inside.
    """
    products = min(products, len(start))
    basis = start.new_zeros(products + 1, len(start))
    basis[0] = start / start.norm()
    matrix = start.new_zeros(products + 1, products + 1)
    for k in range(products):
        image = apply(basis[k])
        matrix[k, k] = image @ basis[k]
        # against all of the basis and twice: rounding brings back what was found before
        for _ in range(2):
            image = image - basis[: k + 1].T @ (basis[: k + 1] @ image)
        matrix[k, k + 1] = matrix[k + 1, k] = image.norm()
        if not matrix[k].isfinite().all():
            nan = start.new_tensor(torch.nan)
            return Eigenvalue(nan, nan, k + 1)
        values, vectors = torch.linalg.eigh(matrix[: k + 1, : k + 1])
        error = image.norm() * vectors[-1, -1].abs()
        if error <= tolerance * values[-1].abs():
            break
        basis[k + 1] = image / image.norm()
    return Eigenvalue(values[-1], error, k + 1)


def _flat_hessian(
    objective: Objective, params: Params
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """v -> H v for vectors of all parameters after one another, and the parameters."""
    if not params:
        raise ValueError("There are no parameters to differentiate, pass at least one.")
    product = hessian_products(objective, params)
    sizes = [w.numel() for w in params.values()]

    def apply(vector: Tensor) -> Tensor:
        pieces = zip(params.items(), vector.split(sizes), strict=True)
        image = product({n: piece.view_as(w).to(w.dtype) for (n, w), piece in pieces})
        return _flatten(image)

    return apply, _flatten(params)


def _flatten(tensors: Params) -> Tensor:
    return torch.cat([tensor.double().flatten() for tensor in tensors.values()])
