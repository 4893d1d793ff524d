"""Definitions beside their terms: what the glossary says, under the pointer or focus.

Each page carries the definitions of the terms that it uses, hidden, and every link to a
term names its definition as its description. book/_static/terms.js shows them; without
a script the link leads to the glossary, as it always does.
"""

import re
from functools import cache

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder

GLOSSARY = "glossary"
LINK = re.compile(
    r'(<a class="reference internal" href="[^"#]*glossary\.html#(term-[^"]+)")'
    r'(?=><span class="xref std std-term">)'
)


@cache
def definitions(builder: StandaloneHTMLBuilder) -> dict[str, str]:
    """Anchor of a term -> the first paragraph of its definition as HTML, unlinked."""
    found = {}
    tree = builder.env.get_and_resolve_doctree(GLOSSARY, builder)
    for item in tree.findall(nodes.definition_list_item):
        first = next(item.findall(nodes.paragraph))
        for reference in list(first.findall(nodes.reference)):
            reference.replace_self(reference.children)
        text = builder.render_partial(first)["fragment"]
        for term in item.findall(nodes.term):
            found.update(dict.fromkeys(term["ids"], text))
    return found


def define(builder: StandaloneHTMLBuilder, page: str, body: str) -> str:
    """The body of a page with the definitions of its terms at the end."""
    if page == GLOSSARY or not LINK.search(body):
        return body
    used = dict.fromkeys(match[2] for match in LINK.finditer(body))
    known = {term: definitions(builder).get(term, "") for term in used}
    hidden = "".join(
        f'<div id="define-{term}">{text}</div>\n' for term, text in known.items()
    )
    body = LINK.sub(r'\1 aria-describedby="define-\2"', body)
    return f'{body}<div class="definitions" hidden>\n{hidden}</div>\n'
