"""Jobs that a cloud is asked about, and why."""
