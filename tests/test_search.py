"""What a reader looks for stands first; book/_static/search.js ranks the pages."""

from browser import shown
from test_site import HTML, built  # noqa: F401  (it builds the book if it must)

FIRST = {  # what a reader writes: a page that answers it
    "slingshot float64": "questions/q06_float32",
    "slingshots fp64": "questions/q06_float32",
    "loss spikes": "liu2026/index",
    "spike": "questions/q07_spike",
    "tiwari speed-up": "tiwari2026/index",
    "numerical stability": "prieto2025/index",
    "radial suppression": "tiwari2026/index",
    "inductive bias": "singh2026/index",
    "layer norm position": "questions/q05_layer_norm",
    "layernorm": "questions/q05_layer_norm",
    "learning rate": "questions/q04_rate_and_decay",
    "lr": "questions/q04_rate_and_decay",
    "which remedy": "questions/q09_remedy",
    "StableMax": "questions/q03_stablemax",
    "rounding": "questions/q02_rounding",
    "how long does it wait": "questions/q01_wait",
    "grokking definition": "basics/grokking",
    "softmax collapse": "prieto2025/fig02_softmax_collapse",
    "float16": "prieto2025/fig02_softmax_collapse",
    "regularization": "prieto2025/fig04_stablemax_grokking",
    "regularisation": "prieto2025/fig04_stablemax_grokking",
    "label smoothing": "prieto2025/fig16_temperature_smoothing",
    "perpgrad": "prieto2025/fig01_headline",
    "sparse parity": "remedies/parity",
    "dropout": "tiwari2026/tab02_regularisers",
    "GELU": "singh2026/tab02_notation",
    "download notebooks": "downloads",
    "exercises teach": "reading-guide",
    "scoreboard": "generated/scoreboard",
}
ASKED = """query => {
  const found = Search._performSearch(...Search._parseQuery(query));
  return found.length ? found.at(-1)[0] : "nothing";
}"""


def test_a_query_finds_its_page_first(chromium):
    with shown(chromium, HTML / "search.html") as page:
        page.wait_for_function("typeof Search !== 'undefined' && Search._index")
        found = {query: page.evaluate(ASKED, query) for query in FIRST}
        assert found == FIRST
        assert page.complaints == []
    with shown(chromium, f"{(HTML / 'search.html').as_uri()}?q=slingshot+fp64") as page:
        page.wait_for_selector("#search-results li a")
        first = page.locator("#search-results li a").first
        assert "float32" in first.text_content()
