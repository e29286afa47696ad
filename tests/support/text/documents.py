"""The documents of the project."""

from __future__ import annotations

from tests.support.paths import DOCS, ROOT, TESTS

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "deploy").glob("*.md"),
        *(ROOT / "training").glob("*.md"),
        *TESTS.glob("*.md"),
        *(TESTS / "goldens").glob("*.md"),
        *(ROOT / "cactus_actors" / "models").glob("*/README.md"),
    ]
)


def page(name: str) -> str:
    """The text of one page of docs/, named by its folder and file: `guide/handoff.md`."""
    return (DOCS / name).read_text(encoding="utf-8")
