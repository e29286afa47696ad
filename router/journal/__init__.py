"""The SQLite journal of accepted and ended jobs, and the repair of a damaged one."""
