"""`python -m docs.generate`: write every generated page."""

from __future__ import annotations

from docs.generate import PAGES, REFERENCE

for name, page in PAGES.items():
    (REFERENCE / name).write_text(page(), encoding="utf-8")
    print(f"docs/reference/{name}")
