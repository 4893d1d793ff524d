"""Curvature of a loss L(w): its Hessian's largest eigenvalue and trace.

L is a function of **float64** parameters by name: in float32 the softmax of a fitted
network is rounded, and the Hessian of the rounded loss is indefinite. The functions
take one network at a time and do not work under vmap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Params = Mapping[str, Tensor]
Objective = Callable[[Params], Tensor]
ROWS = 128  # samples that ``relu_trace`` takes at once, which bounds its memory


def largest_eigenvalue(
    objective: Objective,
    params: Params,
    *,
    preconditioner: Params | None = None,
    most_products: int = 50,
    tolerance: float = 1e-3,
) -> Tensor:
    """Return the most positive eigenvalue of A = H, or of A = P^(-1/2) H P^(-1/2).

    H is the Hessian of the objective at ``params``, by name. The second form is that
    which a step divided by a diagonal P > 0, the ``preconditioner``, sees (Cohen et al.
    2022, arXiv:2207.14484; Liu et al. 2026, figure 6). Gradient descent is stable below
    2 / eta, Adam with P = sqrt(v_hat) + eps below (2 + 2 beta1) / ((1 - beta1) eta).

    The method is Lanczos iteration,

        A q_k = b_(k-1) q_(k-1) + a_k q_k + b_k q_(k+1) with orthonormal q:

    the eigenvalues of the tridiagonal matrix of a and b approach those of A from
    inside. It begins at a random vector, the same in every call, makes at most
    ``most_products`` products with A, 1 or more, and stops once the value is within
    ``tolerance`` * |value| of an eigenvalue of A, for almost every start the largest.
    If the products do not suffice, the value is a lower bound. It is negative if all
    eigenvalues are, and NaN if H is not finite or P not positive. Memory is that of
    ``most_products`` + 1 vectors as long as all parameters.
    """
    scale: float | Tensor = 1.0  # P^(-1/2)
    if preconditioner is not None:
        scale = _flat(preconditioner[name] for name in params).rsqrt()
    hessian_product, point = _hessian(objective, params)
    # as many orthonormal q as there are parameters span everything
    product_count = min(most_products, len(point))
    # on the CPU, so that every device has the same draws
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(len(point), generator=generator, dtype=point.dtype).to(point)
    basis = start.new_zeros(product_count + 1, len(start))  # the rows are q
    basis[0] = start / start.norm()
    # a on the diagonal, b beside it
    tridiagonal = start.new_zeros(product_count + 1, product_count + 1)
    for k in range(product_count):
        image = scale * hessian_product(scale * basis[k])
        tridiagonal[k, k] = image @ basis[k]
        # against the whole basis and twice: rounding brings earlier directions back
        for _ in range(2):
            image = image - basis[: k + 1].T @ (basis[: k + 1] @ image)
        tridiagonal[k, k + 1] = tridiagonal[k + 1, k] = image.norm()
        if not tridiagonal[k].isfinite().all():  # eigh would raise an error
            return start.new_tensor(torch.nan)
        eigenvalues, vectors = torch.linalg.eigh(tridiagonal[: k + 1, : k + 1])
        # the left side, b_k times the last entry of the eigenvector of the largest
        # value, bounds the distance of that value to an eigenvalue of A
        if image.norm() * vectors[-1, -1].abs() <= tolerance * eigenvalues[-1].abs():
            break
        basis[k + 1] = image / image.norm()
    return eigenvalues[-1]


def probe_values(objective: Objective, params: Params, *, probe_count: int) -> Tensor:
    """Return z^T H z (probes,) for ``probe_count`` vectors z of random signs.

    H is the Hessian of the objective at ``params``. The expectation of a value is the
    trace of H (Hutchinson 1990). The signs are the same in every call. Where H is not
    finite, neither is a value. Raises RuntimeError for no vectors.
    """
    hessian_product, point = _hessian(objective, params)
    # on the CPU, so that every device has the same draws
    generator = torch.Generator().manual_seed(0)
    values = []
    for _ in range(probe_count):
        z = 2.0 * torch.randint(2, point.shape, generator=generator).to(point) - 1
        values.append(z @ hessian_product(z))
    return torch.stack(values)


def _hessian(
    objective: Objective, params: Params
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """Return the function v -> H v for the Hessian H of an objective, and its point.

    The point is ``params``, at which H is taken. Both v and the point are vectors of
    all parameters, flattened and concatenated.
    """
    leaves = {name: w.detach().requires_grad_() for name, w in params.items()}
    inputs = list(leaves.values())
    with torch.enable_grad():
        value = objective(leaves)
        gradient = _flat(torch.autograd.grad(value, inputs, create_graph=True))

    def product(vector: Tensor) -> Tensor:
        # the derivative of g . v with v constant
        return _flat(torch.autograd.grad(gradient, inputs, vector, retain_graph=True))

    return product, _flat(params.values())


def _flat(tensors: Iterable[Tensor]) -> Tensor:
    """Return all entries of one or more tensors as one vector, in their order."""
    return torch.cat([tensor.flatten() for tensor in tensors])


class ExactTrace(NamedTuple):
    """Traces () of the Hessian of a mean cross-entropy and of its empirical Fisher."""

    hessian: Tensor
    fisher: Tensor


def relu_trace(
    squared_lengths: Tensor,
    weights: Sequence[Tensor],
    hidden: Sequence[Tensor],
    logits: Tensor,
    labels: Tensor,
    *,
    bias: bool,
) -> ExactTrace:
    """Return tr H of a ReLU network's mean cross-entropy, and the Fisher's trace.

        tr H = mean_rows sum_l (|a_l|^2 + 1) tr(B_l^T (diag p - p p^T) B_l)

    a_l is the input of layer l, B_l the Jacobian of the logits by its output, and p the
    softmax; the 1 stands for the layer's bias. The logits are linear in every single
    weight, so second derivatives of the network itself do not enter the trace,
    wherever no pre-activation is exactly 0. The empirical Fisher has |B_l^T (p - y)|^2
    in place of the inner trace, with the one-hot label y (Tiwari et al. 2026,
    proposition 4.3). No second derivative is computed. The result is in float64, and
    NaN without rows.

    ``squared_lengths`` (rows,) are those of the network's inputs. ``weights`` are those
    (outputs, inputs) of all layers but the first, and ``hidden`` the inputs (rows,
    width) of these layers, after the ReLU. ``logits`` are (rows, classes) and
    ``labels`` (rows,); ``bias`` says whether the layers have biases: all or none.
    """
    # |a_l|^2 of each layer, (rows,)
    squares = [squared_lengths, *(a.double().square().sum(dim=-1) for a in hidden)]
    # a bias is the weight of an input of 1
    squares = [s.double() + (1 if bias else 0) for s in squares]
    weights64 = [w.double() for w in weights]
    totals = logits.new_zeros(2, dtype=torch.float64)  # Hessian, Fisher
    identity = torch.eye(logits.shape[-1], dtype=torch.float64, device=logits.device)
    # ``part`` has the indices of up to ROWS rows
    for part in torch.arange(len(logits), device=logits.device).split(ROWS):
        p = logits[part].double().softmax(dim=-1)[:, None]  # (rows, 1, classes)
        # B_l (rows, classes, width) of the logits minus the label's: all differences
        # are then as small as 1 - p
        jacobian = identity - identity[labels[part]][:, None]
        for layer in range(len(hidden), -1, -1):  # from the last one to the first
            # over the softmax, (p - y)^T B_l, (rows, width)
            mean = (p @ jacobian)[:, 0]
            fisher = mean.square().sum(dim=-1)  # (rows,), and so is the variance
            variance = (p @ jacobian.square())[:, 0].sum(dim=-1) - fisher
            # @ sums over the rows of this part
            totals += torch.stack(
                [squares[layer][part] @ x for x in (variance, fisher)]
            )
            if layer > 0:
                # B of the layer before: back through the weights and the ReLU
                is_active = (hidden[layer - 1][part] > 0)[:, None]
                jacobian = jacobian @ weights64[layer - 1] * is_active
    hessian, fisher = totals / len(logits)
    return ExactTrace(hessian, fisher)
