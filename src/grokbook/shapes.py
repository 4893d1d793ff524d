"""Shapes that many annotations share, for type checkers and for the tests' checks.

Nothing that runs imports this: jaxtyping is a need of the tests alone.
"""

from jaxtyping import Float, Int
from torch import Tensor

Scalar = Float[Tensor, ""]
Vector = Float[Tensor, " n"]  # one axis length within a call
Weights = Float[Tensor, "classes width"]
Features = Float[Tensor, "rows width"]
Table = Float[Tensor, "tokens width"]
Activations = Float[Tensor, "batch positions width"]
Queries = Float[Tensor, "batch queries width"]
Images = Float[Tensor, "batch channels h w"]
Logits = Float[Tensor, "*rows classes"]
Labels = Int[Tensor, "*rows"]
PerRow = Float[Tensor, "*rows"]
Anything = Float[Tensor, " ..."]
Same = Float[Tensor, "*shape"]
