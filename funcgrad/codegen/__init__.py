"""From a loop nest to source text: one printer, a small table per target, and the vector mathematics that
kernels call. Nothing here imports numba; `runtime` compiles what this room prints."""
