"""The `cactus` command; one file for each group of commands."""
