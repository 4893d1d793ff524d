"""Shapes that annotations share; nothing that runs imports them, nor jaxtyping."""

from jaxtyping import Float, Int
from torch import Tensor

Scalar = Float[Tensor, ""]
Vector = Float[Tensor, " n"]
Anything = Float[Tensor, " ..."]
Same = Float[Tensor, "*shape"]
Logits = Float[Tensor, "*rows classes"]
Labels = Int[Tensor, "*rows"]
PerRow = Float[Tensor, "*rows"]
Weights = Float[Tensor, "classes width"]
Features = Float[Tensor, "rows width"]
Table = Float[Tensor, "tokens width"]
Images = Float[Tensor, "batch channels h w"]
Activations = Float[Tensor, "batch positions width"]
Queries = Float[Tensor, "batch queries width"]
