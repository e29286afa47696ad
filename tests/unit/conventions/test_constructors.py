"""Constructors take few arguments; records may have many fields."""

from __future__ import annotations

import ast

import pytest

from tests.support.conventions.constructors import large_constructors, num_arguments

MOST = 8


def test_constructors_take_at_most_eight_arguments() -> None:
    assert large_constructors(MOST) == []


EXPLICIT = "class A:\n  def __init__(self, a, b, /, c, *rest, d=1, **more): ..."
GENERATED = "@dataclass\nclass A:\n  a: int\n  b: int = 1\n  c: int = field(init=False)\n  d: ClassVar[int] = 0\n"
FROZEN = GENERATED.replace("@dataclass", "@dataclass(frozen=True)")


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (EXPLICIT, 6),
        (GENERATED, 0),
        (GENERATED + "  @property\n  def e(self): ...", 0),
        (GENERATED + "  def act(self): ...", 2),
        (FROZEN + "  def act(self): ...", 0),
        ("class A(Struct):\n  a: int\n  def act(self): ...", 0),
        ("@dataclass\nclass B:\n  z: int\n" + GENERATED.replace("A:", "A(B):") + "  def act(self): ...", 3),
    ],
)
def test_constructor_arguments_are_counted(code: str, number: int) -> None:
    classes = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.ClassDef)}
    assert num_arguments(classes["A"], classes) == number
