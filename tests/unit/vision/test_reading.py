"""Pictures are read from data URLs, and from files only below the service's directory."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from cactus_actors.protocol.errors import InvalidRequest, MediaInvalid, MediaNotAllowed, MediaTooLarge
from cactus_actors.vision.picture_reader import PictureReader

CONTENT = b"\x89PNG of a kind"
BASE64 = base64.b64encode(CONTENT).decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "pictures of all"
    (directory / "below").mkdir(parents=True)
    (directory / "one.png").write_bytes(CONTENT)
    (directory / "below/two.png").write_bytes(CONTENT)
    (directory / "below/a:b.png").write_bytes(CONTENT)
    (tmp_path / "secret.png").write_bytes(CONTENT)
    (directory / "link.png").symlink_to(tmp_path / "secret.png")
    (directory / "folder link").symlink_to(tmp_path)
    os.mkfifo(directory / "pipe.png")
    return directory


@pytest.mark.parametrize(
    "url",
    [
        f"data:image/png;base64,{BASE64}",
        f"data:;base64,{BASE64}",
        f"DATA:image/png;charset=x;BASE64,{BASE64}",
        f"data:image/png;base64,{BASE64[:5]}\n {BASE64[5:]}\n",
        "data:image/png;base64," + BASE64.replace("/", "%2F").replace("=", "%3D"),
    ],
)
def test_data_urls_are_read(url: str) -> None:
    assert PictureReader().read(url) == CONTENT


@pytest.mark.parametrize(
    "url",
    [
        "data:",
        "data:image/png,abc",
        "data:image/png;base64",
        "data:;base64,a",
        "data:;base64,AAA",
        "data:;base64,AA=A",
        "data:;base64,-_-_",
        "data:;base64,é",
    ],
)
def test_malformed_data_urls_are_refused(url: str) -> None:
    with pytest.raises(MediaInvalid):
        PictureReader().read(url)


def test_the_limit_of_bytes_is_exact() -> None:
    url = f"data:;base64,{BASE64}"
    assert PictureReader(max_bytes=len(CONTENT)).read(url) == CONTENT
    for size in (len(CONTENT) - 1, 1):
        with pytest.raises(MediaTooLarge):
            PictureReader(max_bytes=size).read(url)


@pytest.mark.parametrize(
    "source",
    [
        "one.png",
        "below/two.png",
        "./below//two.png",
        "below/a:b.png",
        "below/../one.png",
        "below/deep/../../below/two.png",
        "folder link/../one.png",
    ],
)
def test_paths_below_the_directory_are_read(root: Path, source: str) -> None:
    reader = PictureReader(root)
    assert reader.read(source) == CONTENT
    assert reader.read(str(root / source)) == CONTENT
    assert reader.read((root / source).as_uri()) == CONTENT


def test_the_directory_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "again").symlink_to(root)
    reader = PictureReader(tmp_path / "again")
    for path in ("one.png", str(tmp_path / "again/one.png"), str(root / "one.png")):
        assert reader.read(path) == CONTENT


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("/etc/passwd", MediaNotAllowed),
        ("file:///etc/passwd", MediaNotAllowed),
        ("../secret.png", MediaNotAllowed),
        ("below/../../secret.png", MediaNotAllowed),
        ("below/../../secret.png/../one.png", MediaNotAllowed),
        ("/../secret.png", MediaNotAllowed),
        ("folder link/../folder link/secret.png", MediaInvalid),
        ("below/..", MediaInvalid),
        ("file://host/one.png", MediaNotAllowed),
        ("file://[/one.png", MediaInvalid),
        ("link.png", MediaInvalid),
        ("folder link/secret.png", MediaInvalid),
        ("pipe.png", MediaInvalid),
        ("below", MediaInvalid),
        ("", MediaInvalid),
        (".", MediaInvalid),
        ("missing.png", MediaInvalid),
        ("one.png/more", MediaInvalid),
        ("one.png\0", MediaInvalid),
        ("n" * 5000, MediaInvalid),
        ("\ud800", MediaInvalid),
    ],
)
def test_other_paths_are_refused(root: Path, source: str, kind: type[InvalidRequest]) -> None:
    with pytest.raises(kind) as caught:
        PictureReader(root).read(source)
    assert "secret" not in caught.value.message
    assert str(root) not in caught.value.message


def test_an_absolute_path_is_compared_when_it_has_no_parents_left(root: Path) -> None:
    assert PictureReader(root).read(f"{root}/../{root.name}/below/../one.png") == CONTENT
    for outside in (f"{root}/../secret.png", f"{root}/below/../../secret.png", "/.." + str(root) + "/../secret.png"):
        with pytest.raises(MediaNotAllowed):
            PictureReader(root).read(outside)


def test_a_path_beside_the_directory_is_outside(root: Path) -> None:
    beside = root.parent / f"{root.name} too"
    beside.mkdir()
    (beside / "one.png").write_bytes(CONTENT)
    with pytest.raises(MediaNotAllowed):
        PictureReader(root).read(str(beside / "one.png"))


def test_a_large_file_is_refused_unread(root: Path) -> None:
    with (root / "large.png").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(MediaTooLarge):
        PictureReader(root).read("large.png")


@pytest.mark.parametrize(
    "source",
    [
        *("one.png", "/etc/passwd", "file:///etc/passwd", "http://example.org/a.png", "https://example.org/a.png"),
        *("ftp://127.0.0.1/x", "//127.0.0.1/x", "gopher://x/", "javascript:alert(1)"),
    ],
)
def test_without_settings_only_data_urls_are_read(source: str) -> None:
    with pytest.raises(MediaNotAllowed):
        PictureReader().read(source)
