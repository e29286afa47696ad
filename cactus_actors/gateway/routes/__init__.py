"""One file a group of paths; each has its handlers in `HANDLERS`."""
