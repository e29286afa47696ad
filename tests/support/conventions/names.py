"""Names that are used more than once."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.support.conventions.sources import product

IN_EVERY_PACKAGE = {"__init__.py", "__main__.py"}


def classes_of_one_name() -> list[str]:
    """Public classes of the product that share their name."""
    where: dict[str, list[str]] = defaultdict(list)
    for source in product():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(source.path)
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(where.items()) if len(paths) > 1]


def files_of_one_name() -> list[str]:
    """Files with the same name in the same package directly below `cactus_actors`."""
    where: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source in product():
        parts = source.module.split(".")
        if source.path.rpartition("/")[2] not in IN_EVERY_PACKAGE:
            where[parts[1], parts[-1]].append(source.path)
    return [f"{name}.py: {', '.join(paths)}" for (_, name), paths in sorted(where.items()) if len(paths) > 1]
