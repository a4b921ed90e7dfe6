"""Jaxpr -> loop nests -> program.

In: a typed Jaxpr. Out: a `Program`: kernels (loop nests), the buffers they touch and the order they
run in. Nothing here compiles, and nothing here knows which machine the nests will be printed for.
"""
