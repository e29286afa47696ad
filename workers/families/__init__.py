"""Model families, one file each: its configuration and its forward pass.

Vision encoders would go here; there are none yet.
"""
