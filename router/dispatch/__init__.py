"""Which waiting job runs where, and when."""
