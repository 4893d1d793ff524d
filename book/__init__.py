"""The book: its pages, and what makes them."""

import sys

# Where there is this module, jsonschema compiles the grammar of addresses with it, for
# a second in every process that reads a notebook. No schema of a notebook has one.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
