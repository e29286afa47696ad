"""Tables: their rows in as prompts, their columns and those of the answers out, each row exactly once."""

from typing import TYPE_CHECKING, Any

from cactus_actors.data.requirements import require_pyarrow, require_ray_data
from cactus_actors.data.table_format import TableFormat, is_table_name

if TYPE_CHECKING:
    from cactus_actors.data.memory_tables import map_rows

__all__ = ["TableFormat", "is_table_name", "map_rows", "require_pyarrow", "require_ray_data"]


def __getattr__(name: str) -> Any:
    """Load `map_rows` when it is used: the commands that answer no rows need none of its imports."""
    if name != "map_rows":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cactus_actors.data.memory_tables import map_rows

    return map_rows
