"""The files of the page: they load nothing from elsewhere, and their text never becomes markup."""

from __future__ import annotations

import posixpath
import re
from html.parser import HTMLParser

import pytest

from cactus_actors.gateway.page.assets import PREFIX, assets

FILES = assets()
MODULES = [path for path in FILES if path.endswith(".js")]
STYLES = [path for path in FILES if path.endswith(".css")]
MARKUP = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment"),
    *("eval(", "new Function", "srcdoc", "document.cookie", "localStorage", "importScripts"),
)


def text_of(path: str) -> str:
    return FILES[path].body.decode()


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_document_has_no_code_and_no_style_of_its_own() -> None:
    tags = Tags()
    tags.feed(text_of("/"))
    for tag, attributes in tags.found:
        assert tag not in ("style", "iframe", "object", "embed", "base")
        assert tag != "script" or attributes.get("src")
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
    named = {link for _, attributes in tags.found if (link := attributes.get("src") or attributes.get("href"))}
    assert {f"/{link}" for link in named if not link.startswith("#")} <= FILES.keys()
    assert set(STYLES) == {f"/{link}" for link in named if link.endswith(".css")}


@pytest.mark.parametrize("path", MODULES)
def test_a_module_makes_no_markup_and_imports_files_of_the_page(path: str) -> None:
    text = text_of(path)
    assert [word for word in MARKUP if word in text] == []
    for name in re.findall(r"""(?:from|import)\s*\(?['"]([^'"]+)['"]""", text):
        assert name.startswith("."), name
        assert posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) in FILES
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}


@pytest.mark.parametrize("path", STYLES)
def test_a_style_loads_nothing(path: str) -> None:
    assert "url(" not in text_of(path)
    assert "@import" not in text_of(path)


def test_every_module_is_used_and_short() -> None:
    named = " ".join(text_of(path) for path in FILES)
    for path in (*MODULES, *STYLES):
        assert posixpath.basename(path) in named, path
        lines = text_of(path).splitlines()
        assert len(lines) <= 400, path
        assert max(len(line) for line in lines) <= 120, path
    assert f"{PREFIX}main.js"[1:] in text_of("/")
