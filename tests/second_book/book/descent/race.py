# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Two ways to fit a line

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "cpu"

# %%
from claimbook import claims, evidence, plots
from claimbook.evidence import Run

plots.use_style()
page = evidence.Page("descent/race", scale, retrain, device)
record = page.record()
plain, adam = (
    Run(record, arm, arm, plots.COLOUR[arm]) for arm in ("gradient descent", "Adam")
)
steps = {run: run.first("test_loss", at_most=0.02) for run in (plain, adam)}
sheet = claims.read(page.name, {"sooner": ([plain, adam], steps[adam] - steps[plain])})
sheet.box(f"Gradient descent is ahead of Adam by {sheet.told('sooner')} steps.")

# %%
figure, (axes,) = plots.panels(1)
for run in (plain, adam):
    plots.curve(axes, run, "test_loss")
axes.set(xlabel="step", ylabel="test error", yscale="log")
plots.show(figure)

# %%
sheet.closing(record)
