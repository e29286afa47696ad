"""All SIMD of the project, behind a dozen functions that compiled model code calls.

`matrix` stores, multiplies and looks up weights; `attention`, `rows` and `rotary` are the rest of a
transformer; `team` runs one compiled function on several threads. Nobody above knows a tile size.
"""
