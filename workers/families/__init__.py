"""Model families, one file each: its configuration and its forward pass."""
