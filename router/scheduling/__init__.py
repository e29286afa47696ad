"""Which waiting job runs on which worker, and when."""
