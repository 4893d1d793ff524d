"""Terms of a text that it does not explain itself, from book/words.yaml."""

import re

from claimbook import project


def terms(text: str, page: str) -> list[tuple[str, str]]:
    """Return (term, meaning) for each term that a text uses but does not explain.

    ``page``, "<paper>/<id>", is that of the text: some terms are explained on certain
    pages only. If book/words.yaml is missing, the list is empty.
    """
    # Each term has what it "means", and patterns: "where" it is used in a text, "pages"
    # on which it has this meaning (all if not given), and "known", words of a text that
    # explains it itself.
    entries = project.read_yaml(project.home() / "book" / "words.yaml")
    return [
        (term, entry["means"])
        for term, entry in entries.items()
        if re.search(entry["where"], text)
        and re.match(entry.get("pages", ""), page)
        and not ("known" in entry and re.search(entry["known"], text))
    ]
