"""The imports have no circles, neither of files nor of folders."""

from __future__ import annotations

import pytest

from tests.support.house.imports import circles_of, circles_of_files, circles_of_folders


def test_no_file_of_the_product_imports_itself_over_others() -> None:
    assert circles_of_files() == []


@pytest.mark.parametrize(
    "package",
    ["cactus_actors", "cactus_actors.router", "cactus_actors.workers", "cactus_actors.gateway"],
)
def test_no_folder_imports_itself_over_others(package: str) -> None:
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
