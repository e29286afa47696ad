"""A job from its arrival to its end, its text and those who listen."""
