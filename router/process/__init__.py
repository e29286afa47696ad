"""What the router does to its own process: memory limit, garbage collection, mailbox of its loop, delays."""
