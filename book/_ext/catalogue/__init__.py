"""What the book says about all of its pages at once, made from the executed twins.

`index` writes book/generated/, which is neither edited nor committed:

landing, findings, matrix  what the landing page and the chapters' front pages include
scoreboard                 every claim, and on a page of its own what is beyond them
gallery                    cards with thumbnails and verdicts
status                     when, on what, how long, with which versions
"""

from __future__ import annotations

from pathlib import Path

from book._ext.catalogue import findings, gallery, landing, matrix, scoreboard
from book._ext.catalogue.entries import entries
from book._ext.catalogue.status import status
from grokbook.project import PAPERS, home

__all__ = ["index"]


def index() -> list[Path]:
    """Write the generated pages and thumbnails; returns the files written."""
    found = entries()
    of_papers = [entry for entry in found if entry.paper in PAPERS]
    written: dict[str, str | bytes] = {
        f"thumbnails/{gallery.file_name(entry)}": image
        for entry in found
        if (image := gallery.thumbnail(entry))
    }
    written |= {
        f"papers/{paper}.md": landing.chapter(paper, of_papers) for paper in PAPERS
    }
    written |= {
        "landing/findings.md": findings.shown({entry.id: entry for entry in found}),
        "landing/matrix.md": "\n\n".join(
            [landing.so_far(of_papers), matrix.legend(), matrix.matrix(of_papers), ""]
        ),
        "landing/papers.md": landing.papers(of_papers),
        "gallery.md": gallery.gallery(found),
        "scoreboard.md": scoreboard.scoreboard(of_papers),
        "beyond.md": scoreboard.beyond(of_papers),
        "status.md": status(found),
    }
    folder = home() / "book" / "generated"
    return [_write(folder / name, content) for name, content in written.items()]


def _write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
