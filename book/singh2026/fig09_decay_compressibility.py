# %% [markdown]
# # [Singh et al. 2026 · Figure 9]{.kicker} Stronger weight decay squeezes the features of a transformer into few directions sooner

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import pandas as pd
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words
from grokbook import metrics

plots.use_style()
page = evidence.Page("singh2026/fig09", scale, retrain, device)
record = page.record("fig04wd", arms=("No LN", "decay 1.5"))
LAMBDAS = (0.1, 0.2, 0.5, 0.75, 1.0, 1.5)
shades = plots.shades(LAMBDAS)
arms = {v: "No LN" if v == 1 else f"decay {v:g}" for v in LAMBDAS}
runs = {v: Run(record, arms[v], f"λ = {v:g}", shades[v]) for v in LAMBDAS}
every = list(runs.values())
weakest, usual, strongest = runs[0.1], runs[1.0], runs[1.5]
RANK, ALPHA = "effective_rank_test", "power_law_test"
END = usual.settings.epochs
reached = {run: run.reaches(loss=0.01) for run in every}
squeezed = {run: run.first(RANK, at_most=20, since=200) for run in every}


def falling(column):
    """Share of the looks from a fifth to four fifths of training, ranks in order of λ.

    For λ from 0.5 on; up to 5 % more than at the next weaker decay counts as in order.
    """
    some = [run for value, run in runs.items() if value >= 0.5]
    looks = [r.series(column, since=0.2 * END, until=0.8 * END).dropna() for r in some]
    pairs = [b <= 1.05 * a for a, b in zip(looks, looks[1:], strict=False)]
    return pd.concat(pairs).groupby(level=0).all().mean()


def apart(read):
    """The smallest of λ up to 0.2 over the largest of λ from 0.75 on."""
    table = evidence.joined({value: read(run) for value, run in runs.items()})
    return table[[0.1, 0.2]].min(axis=1) / table[[0.75, 1.0, 1.5]].max(axis=1)


def late(run):
    """Smallest exponent of the last tenth, by the published recipe."""
    return run.smallest("power_law_test_float32", since=0.9 * END)


found = {
    "falls": (every, falling(RANK)),
    "at-the-end": (every, apart(lambda run: run.last(RANK))),
    "exponent": (every, apart(late)),
    "fallen-to-20": {run: squeezed[run] for run in reversed(every)},
    "rank": {run.label: (run, run.last(RANK)) for run in every},
    "of-training-features": (every, falling("effective_rank_train")),
}
sheet = claims.read(page.name, found)
whole = sheet.values["falls"][1]
sheet.box(
    "Features are the numbers that the last layer reads, 128 for each sum. Their "
    "effective rank counts the directions that they use. The paper says that networks "
    "which generalise earlier compress their features earlier. Here the networks "
    "differ in weight decay λ: with a stronger one they generalise earlier. In "
    "every run their features are compressed earlier too: the rank falls to 20 in this order (networks that never get "
    "there share the last place).\n\nIn the median run the rank has fallen to 20 at "
    f"epoch {words(claims.median(squeezed[strongest]))} with λ = 1.5, at "
    f"{words(claims.median(squeezed[usual]))} with λ = 1, and not with 0.5; with 0.2 or less no run gets there. "
    "By this mark the sentence holds. Until we had the results, the verdict stood on a stricter test, "
    f"the order at every measurement. Only {(whole == 1).sum()} of "
    f"{len(whole)} runs keep it, since neighbouring decays have nearly the same rank "
    "for a while."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-09
#| caption: >
#|   From a decay of 0.5 on, the stronger it is, the earlier the features lose directions. The height is
#|   the effective rank of the features of the test set, with one colour for each
#|   weight decay λ. Thick lines are medians of the runs, thin lines single runs. A dot
#|   marks the median epoch at which the rank has fallen to 20, the dotted line. Where
#|   λ has no dot, the median run stays above 20. The words below count the runs with
#|   the ranks in order of λ, from 0.5 on, at every measurement from a fifth to four
#|   fifths of training. Diamonds are the mean of the authors' runs for λ = 0.1, 1 and
#|   1.5.
#| alt: >
#|   Effective rank rises to about forty and then falls to seven, earlier for larger decays,
#|   and stays near forty for the two smallest. The authors' points lie near our curves.
#| fold: "Code: draw the figure"
paper = evidence.reference("singh2026/fig09")
paper = paper[paper["epoch"] % 2000 == 1000].set_index(["quantity", "series"])


def draw(axes, column, drawn):
    """A measure of every decay, with the authors' mean or smallest of three."""
    for run in every:
        series = run.series(column, since=200).dropna(how="all")
        axes.plot(series.median(axis=1), color=run.color, label=run.label)
        axes.plot(series, color=run.color, lw=0.6, alpha=0.3)
        if run in (weakest, usual, strongest):
            mine = paper.loc[(drawn[0], run.arm)]
            how = {"label": "", "color": run.color}
            plots.paper(axes, mine["epoch"], mine[drawn[1]], **how)
    axes.set(xlabel="epoch")
    plots.thousands(axes)


figure, (rank,) = plots.panels(1, height=3.8)
draw(rank, RANK, ("effective_rank", "value"))
rank.axhline(20, color=plots.GREY, ls=":", lw=1.2)
for run in every:
    if np.isfinite(fell := claims.median(squeezed[run])):
        rank.plot([fell], [20], "o", color=run.color, mec="white", ms=9, zorder=4)
kept = f"in order at every measurement: {(whole == 1).sum()} of {len(whole)} runs"
rank.text(300, 3, kept, color=plots.BLACK)
rank.set(ylabel="effective rank (of 128)", ylim=(0, 50))
rank.set_yticks((0, 10, 20, 30, 40, 50), ("0", "10", "20", "30", "40", "50"))
plots.paper(rank, [], [])
rank.legend(*(one[-1:] for one in rank.get_legend_handles_labels()), loc="upper left")
rank.get_lines()[-1].set_label("")
plots.end_labels(rank)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Enough decay** brings the {{term}}`effective rank` down to about
  {sheet.told("rank λ = 1.5", "{:.0f}")} of 128 directions. With λ = 0.1 it stays up, and the
  network has not generalised by the end.
* **Timing.** When the rank passes 20 with λ = 1, the test loss has fallen to
  {told(usual.at("test_loss", squeezed[usual]), "{:.1f}")}. It reaches 0.01
  {told(evidence.difference(reached[usual], squeezed[usual]))} epochs later.
* **[Figure 4](fig04_rate_and_decay.ipynb)** has the test losses of these runs, and
  [Figure 6](fig06_compressibility.ipynb) the same measures for places of layer norm.
""")

# %% tags=["hide-input"]
#| name: fig-singh2026-09-exponent
#| caption: >
#|   The power-law exponent falls in the same order; a smaller exponent is a heavier tail of
#|   sizes. Medians of the runs thick, single runs thin, colours as above, in float64.
#|   Diamonds: the smallest of the authors' runs, by their float32 recipe.
#| alt: >
#|   The exponent falls from about 3.5 to 1.1, earlier for larger decays. The authors' points
#|   lie below our exponents early on.
#| fold: "Code: draw the exponent"
figure, (alpha,) = plots.panels(1, height=2.8)
draw(alpha, ALPHA, ("power_law", "low"))
alpha.set(ylabel="exponent α", ylim=(1, 5))
plots.end_labels(alpha)
plots.show(figure)

# %% [markdown]
# ## The idea
#
# The features $F$ are the 128 numbers per sample that the unembedding reads. With
# eigenvalues $s_i$ of $F^\top F$, the effective rank counts directions weighted by size:
#
# $$
# \operatorname{ER} = \exp\Bigl(-\sum_i q_i \ln q_i\Bigr), \qquad q_i = \frac{s_i}{\sum_j s_j} .
# $$
#
# The exponent is explained on [Figure 6](fig06_compressibility.ipynb).


# %%
def effective_rank(F):
    """How many directions the rows of F use, weighted by their size."""
    sizes = torch.linalg.eigvalsh(F.T @ F).clamp(min=0)
    shares = sizes / sizes.sum()
    return torch.special.entr(shares).sum().exp()


torch.manual_seed(0)
noise = torch.randn(684, 128, dtype=torch.float64)
for F in (noise, noise + 5, noise[:, :8] @ noise[:8]):
    sizes = metrics.gram_eigenvalues(F)
    torch.testing.assert_close(effective_rank(F), metrics.effective_rank(sizes))
    print(f"{float(effective_rank(F)):.1f} of 128 directions")

# %% [markdown]
# Noise uses nearly all directions. The same noise with a common mean of 5 seems to use one or
# two, since $F$ is not centred. The third example has eight. Where ordered eigenvalues fall
# like $i^{-\beta}$ the exponent is $1 + 1/\beta$: a *steeper* spectrum has a *smaller*
# exponent.
#
# ## The claims
#
# Features are those of the test set, as in the authors' plots. The bounds were fixed from
# their logs before any run. So was the tolerance: a rank up to 5 % above that of the next
# weaker decay counts as in order. An order is judged seed by seed.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# The runs of [Figure 4](fig04_rate_and_decay.ipynb), six decays without
# {term}`layer norm`. Official code: [`jaisidhsingh/layernorm-grok`](https://github.com/jaisidhsingh/layernorm-grok),
# commit `2199213`, `scripts/wd_sweep.sh`.
#
# 1. *Features.* The paper takes those of the training set, its notebooks plot those of the
#    test set. The latter are judged; the former are among the folded rows.
# 2. *Precision.* The published recipe squares $F$ in float32; what lies below about 3e-4 of
#    the largest singular value is then rounding noise. The figure has float64. The claim on
#    the exponent is judged by the recipe, which [Figure 6](fig06_compressibility.ipynb)
#    compares with float64.
# 3. *Exponent over seeds.* The authors plot the smallest of five seeds. We judge each seed by
#    its smallest value over the last tenth of training.

# %% [markdown]
# ## Reading the result
#
# Our ranks lie near the authors' points, mostly a little below them with a decay of 1 or 1.5 and above them with 0.1. The order
# of the decays is theirs.

# %% tags=["remove-input"]
losses = pd.concat([run.last("test_loss")[np.isinf(reached[run])] for run in every])
ranks = pd.concat([run.last(RANK)[np.isinf(reached[run])] for run in every])
short, far = losses < 1, losses >= 1
apart_at_end = sheet.values["at-the-end"][1]
tables.prose(f"""
The two claims on the rank fail in {(whole < 1).sum()} and {(apart_at_end < 4).sum()} of {len(whole)}
seeds. There neighbouring decays have nearly the same rank for a while, or features at λ = 0.75
are still being compressed when training ends.

Compression goes with the test loss: the rank falls while the test loss does.

{len(losses)} runs do not reach a test loss of 0.01. Of these, {short.sum()} end just short of
it, with a rank of at most {ranks[short].max():.0f}. The others end at a loss of
{losses[far].min():.0f} or more, with a rank of {ranks[far].min():.0f} or more. The paper claims
the correspondence and no more. Neither tests which of the two causes the other.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-09-rank
# All features are on a circle in two of the 128 directions, and noise of a hundredth of that
# size fills the others. What is the effective rank?
# ```
#
# ````{solution} ex-singh2026-09-rank
# :class: dropdown
# The two large eigenvalues share nearly all of the sum, the other 126 have $10^{-4}$ of each:
#
# ```python
# import torch
# s = torch.tensor([1.0, 1.0] + 126 * [2e-4], dtype=torch.float64)
# print(f"{float(torch.special.entr(s / s.sum()).sum().exp()):.2f}")
# ```
#
# 2.27, so little is added by the noise.
# ````
#
# ```{exercise}
# :label: ex-singh2026-09-modes
# The network at λ = 1.5 ends at an effective rank of about seven. A solution with $k$
# Fourier modes needs a cosine and a sine of each. Which $k$ fits?
# ```
#
# ```{solution} ex-singh2026-09-modes
# :class: dropdown
# Between three and four modes if all had the same size, six to eight directions. Modes of
# different size count for less, so five modes are possible too: the effective rank is a lower
# bound on the number of directions in use.
# ```
#
# ```{exercise}
# :label: ex-singh2026-09-steep
# A spectrum falls like $i^{-3}$. What exponent do you expect, and what if it falls twice as
# steeply on a logarithmic plot?
# ```
#
# ```{solution} ex-singh2026-09-steep
# :class: dropdown
# $1 + 1/3 \approx 1.33$ and $1 + 1/6 \approx 1.17$. The exponent cannot fall below 1, and
# close to 1 it hardly tells steep spectra apart.
# ```

# %% [markdown]
# ## Run it yourself
#
# A smaller task (addition modulo 37, 5,000 epochs) with three seeds, in about an hour and a
# half on two cores:
#
# ```bash
# make page PAGE=singh2026/fig09 SCALE=laptop
# ```
