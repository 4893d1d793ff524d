"""Shapes that annotations share, for type checkers and for the checks of the tests.

Nothing that runs imports this: jaxtyping is a need of the tests alone.
"""

from jaxtyping import Float, Int
from torch import Tensor

Scalar, Vector = Float[Tensor, ""], Float[Tensor, " n"]
Anything, Same = Float[Tensor, " ..."], Float[Tensor, "*shape"]
Logits, Labels = Float[Tensor, "*rows classes"], Int[Tensor, "*rows"]
PerRow = Float[Tensor, "*rows"]
Weights, Features = Float[Tensor, "classes width"], Float[Tensor, "rows width"]
Table = Float[Tensor, "tokens width"]
Images = Float[Tensor, "batch channels h w"]
Activations = Float[Tensor, "batch positions width"]
Queries = Float[Tensor, "batch queries width"]
