"""What a reader looks for stands first; book/_ext/search.js ranks the pages."""

from browser import shown
from test_site import HTML, built  # noqa: F401  (it builds the book if it must)

FIRST = {  # a page: what those write who look for it
    "questions/q01_wait": "how long does it wait",
    "questions/q03_stablemax": "StableMax",
    "questions/q04_rate_and_decay": "learning rate, lr",
    "questions/q05_layer_norm": "layer norm position, layernorm",
    "questions/q06_float32": "slingshot float64, slingshots fp64",
    "questions/q09_remedy": "which remedy",
    "basics/grokking": "grokking definition",
    "prieto2025/index": "numerical stability",
    "singh2026/index": "inductive bias",
    "liu2026/index": "loss spikes",
    "tiwari2026/index": "tiwari speed-up, radial suppression",
    "prieto2025/fig02_softmax_collapse": "softmax collapse, float16",
    "prieto2025/fig04_stablemax_grokking": "regularization, regularisation",
    "prieto2025/fig16_temperature_smoothing": "label smoothing",
    "remedies/parity": "sparse parity",
    "tiwari2026/tab02_regularisers": "dropout",
    "singh2026/tab02_notation": "GELU",
    "downloads": "download notebooks",
}
ASKED = "query => Search._performSearch(...Search._parseQuery(query)).at(-1)?.[0]"


def test_a_query_finds_its_page_first(chromium):
    with shown(chromium, HTML / "search.html") as page:
        page.wait_for_function("typeof Search !== 'undefined' && Search._index")
        for wanted, queries in FIRST.items():
            for query in queries.split(", "):
                assert page.evaluate(ASKED, query) == wanted, query
        assert page.complaints == []
    with shown(chromium, f"{(HTML / 'search.html').as_uri()}?q=slingshot+fp64") as page:
        page.wait_for_selector("#search-results li a")
        first = page.locator("#search-results li a").first
        assert "float32" in first.text_content()
