"""SIMD kernels: a dozen functions for compiled model code.

`matrix` stores, multiplies and looks up weights; `attention`, `row_kernels`, `short_conv` and `experts` are the
rest of a transformer; `sampling` samples tokens; `thread_team` runs one compiled function on several threads.
Tile sizes are private to this folder.
"""
