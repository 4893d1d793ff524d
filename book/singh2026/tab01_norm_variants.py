# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Singh et al. 2026 · Table 1]{.kicker} A layer norm makes the path that reads it blind to length, and no other path

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the networks, what seven-fold inputs change, and the claims"
import math

import torch

from grokbook import claims, datasets, metrics, models, plots, tables
from grokbook.names import options, resolve
from grokbook.papers import singh2026

plots.use_style()
NAMES = tuple(singh2026.NORMS)
PATHS = ("queries", "keys", "values", "MLP")
ZERO = 1e-12  # relative; float64 rounds at 2e-16
torch.manual_seed(0)
data = datasets.modular(113, train_fraction=0.3, equals=True, shuffle="python")
tokens = data.x_train[:128]


def build(name, spread=0.2):
    """A variant at its start in float64, with `spread` put on γ = 1 and β = 0."""
    spec = singh2026.network("paper", singh2026.NORMS[name])
    torch.manual_seed(0)
    model = resolve("model", spec)(**options(spec)).double().requires_grad_(False)
    for weight in model.blocks[0].norms.parameters():
        weight += spread * torch.randn_like(weight)
    return model


def reads(model, x, y):
    """What the matrix of each path reads when the block is given x, and its MLP y."""
    block, seen, hooks = model.blocks[0], {}, []
    read = block.attention
    for path, matrix in zip(
        PATHS, (read.query, read.key, read.value, block.mlp[0]), strict=True
    ):
        keep = lambda _, given, path=path: seen.update({path: given[0]})  # noqa: E731
        hooks.append(matrix.register_forward_pre_hook(keep))
    block(x, 0, models.Recorder())
    block.finish(y, torch.zeros_like(y))
    for hook in hooks:
        hook.remove()
    return seen


def passes(model, x, y):
    """What x makes of attention, and y of the MLP and of the logits."""
    block, seen = model.blocks[0], models.Recorder()
    block(x, 0, seen)
    attention = seen.found["attention.0"], seen.found["attention_out.0"]
    logits = model.unembedding(block.finish(y, torch.zeros_like(y), seen))
    return (*attention, seen.found["mlp_out.0"], logits)


def moved(after, before):
    """Length of the change over the length before, of all rows together."""
    return float((after - before).norm() / before.norm())


def inputs(model):
    """x and y of the sample."""
    x, seen = model.embed(tokens), models.Recorder()
    model(tokens, seen)
    return x, x + seen.found["attention_out.0"]


EFFECTS = ("attention weights", "output of attention", "output of MLP", "logits")
change = {}
for name in NAMES:
    model = build(name)
    x, y = inputs(model)
    given = reads(model, x, y), reads(model, 7 * x, 7 * y)
    change[name] = {path: moved(given[1][path], given[0][path]) for path in PATHS}
    pairs = zip(passes(model, 7 * x, 7 * y), passes(model, x, y), strict=True)
    change[name] |= dict(zip(EFFECTS, (moved(*pair) for pair in pairs), strict=True))

FACTORS = [10 ** (k / 8) for k in range(-16, 17)]


def swept(name, factors=FACTORS):
    """Entropies of attention, and lengths at four places, of x times each factor.

    By place a tensor (factors, rows): a row is a sample, or a sample and a query.
    """
    model, found = build(name, spread=0), []
    x = inputs(model)[0]
    for factor in factors:
        seen = models.Recorder()
        model.blocks[0](factor * x, 0, seen)
        weights = seen.found["attention.0"]
        entropy = -(weights * weights.log()).sum(-1).nan_to_num()
        rows = [seen.found[k].norm(dim=-1) for k in ("attention_out.0", "mlp_in.0")]
        found.append([one.flatten() for one in (entropy, *rows)])
    return [torch.stack(one) for one in zip(*found, strict=True)]


print({n: {k: f"{v:.3g}" for k, v in c.items()} for n, c in change.items()})
for n in NAMES:
    e, a, u = swept(n)
    print(n, e.mean(1)[::8], a.mean(1)[::8], u.mean(1)[::8])
