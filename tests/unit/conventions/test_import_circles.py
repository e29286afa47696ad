"""The imports have no circles, neither of files nor of folders."""

from __future__ import annotations

import pytest

from tests.support.conventions.imports import circles_of, circles_of_files, circles_of_folders


def test_files_of_the_product_have_no_import_circle() -> None:
    assert circles_of_files() == []


@pytest.mark.parametrize(
    "package",
    ["cactus_actors", "cactus_actors.router", "cactus_actors.workers", "cactus_actors.gateway"],
)
def test_folders_have_no_import_circle(package: str) -> None:
    assert circles_of_folders(package) == []


@pytest.mark.parametrize(
    ("imports", "num_circles"),
    [
        ({"a": {"b"}, "b": {"c"}}, 0),
        ({"a": {"b"}, "b": {"a"}}, 1),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, 1),
        ({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}, 2),
    ],
)
def test_every_circle_is_found(imports: dict[str, set[str]], num_circles: int) -> None:
    assert len(circles_of(imports)) == num_circles
