"""Every link of the documents leads to an existing file and heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.conventions.sources import sources
from tests.support.paths import ROOT
from tests.support.text.documents import DOCUMENTS

PATH = re.compile(r"`((?:benchmarks|cactus_actors|deploy|docs|router|tests|training|workers)/[\w./-]*\w)/?`")
TEST = re.compile(r"`(test_\w+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in headings}


def is_broken(document: Path, link: str) -> bool:
    """True if a link within the project has no target."""
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_link_targets_exist(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if not re.match(r"\w+:", link)]
    assert [link for link in links if is_broken(document, link)] == []


def test_named_files_and_tests_exist() -> None:
    text = "".join(document.read_text() for document in DOCUMENTS if document.name != "CHANGELOG.md")
    paths, tests = set(PATH.findall(text)), set(TEST.findall(text))
    assert len(paths) >= 100
    assert len(tests) >= 5
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    functions = (node for source in sources("tests") for node in source.nodes)
    assert tests - {getattr(node, "name", None) for node in functions} == set()


def test_pages_named_by_the_product_exist() -> None:
    files = [file for room in ("cactus_actors", "router", "workers") for file in (ROOT / room).rglob("*.py")]
    named = {(path, str(file)) for file in files for path in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text())}
    assert len(named) >= 5
    assert [(path, file) for path, file in sorted(named) if not (ROOT / path).is_file()] == []


def test_a_broken_link_is_found() -> None:
    readme = ROOT / "README.md"
    assert is_broken(readme, "docs/nothing.md")
    assert is_broken(readme, "docs/reference/options.md#nothing")
    assert not is_broken(readme, "docs/reference/options.md#reasoning")
