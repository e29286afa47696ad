"""Tables: their rows in as prompts, their columns and those of the answers out, each row exactly once."""

from cactus_actors.data.requirements import require_pyarrow
from cactus_actors.data.table_format import TableFormat, is_table_name

__all__ = ["TableFormat", "is_table_name", "require_pyarrow"]
