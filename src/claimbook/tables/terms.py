"""Terms of a text that it does not explain itself, from book/words.yaml."""

import re

from claimbook import project
from claimbook.tables.experiment import parsed


def terms(text: str, page: str) -> list[tuple[str, str]]:
    """(term, what it means) for each that a text of a page "<paper>/<id>" uses."""
    path = project.home() / "book" / "words.yaml"
    every = parsed(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return [
        (term, about["means"])
        for term, about in every.items()
        if re.search(about["where"], text)
        and re.match(about.get("pages", ""), page)
        and not ("known" in about and re.search(about["known"], text))
    ]
