"""Terms of a text that it does not explain itself, from book/words.yaml."""

import re

from claimbook import project


def terms(text: str, page: str) -> list[tuple[str, str]]:
    """Return (term, meaning) for each term that a text uses but does not explain.

    ``page`` is "<paper>/<id>": some terms are explained on certain pages only. If
    book/words.yaml is missing, the list is empty.
    """
    # by term: what it ``means``, and patterns of ``where`` a text uses it, of ``pages``
    # on which it is explained, and of a text in which it is ``known``
    entries = project.read_yaml(project.home() / "book" / "words.yaml")
    return [
        (term, entry["means"])
        for term, entry in entries.items()
        if re.search(entry["where"], text)
        and re.match(entry.get("pages", ""), page)
        and not ("known" in entry and re.search(entry["known"], text))
    ]
