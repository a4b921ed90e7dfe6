"""Programs -> machine code -> results: the only room that imports numba.

A Program (loops/program.py) enters `executable.load`; an Executable leaves, whose `entry(*ndarrays)` runs it.

| file | in -> out |
|---|---|
| pointers, intrinsics | the words that kernels are written in |
| kernel_tree | a function in those words -> numba's intermediate form |
| frontend | that -> LLVM text (numba's typing and lowering, cut down) |
| keys | sources -> the names under which their object code is kept |
| compile, parallel | kernel sources -> object code, several side by side |
| cache | object code on disk |
| loader, kernels | object code -> addresses; each kernel once a process |
| system_words, driver_*, driver | the driver: machine code that walks a program's records; driver_compile makes it |
| records, executable | Program -> records -> Executable |
| threads, blas | the thread pool; where the matrix products are |
| buffers | addresses of arrays; fresh arrays in recycled memory |
| counters | what was compiled, loaded, reused |

numba is imported by what compiles: compile, driver_compile and below them. What loads and runs does without (kernels.py and
driver.py name these lazily), so that a process whose code is all on disk never waits for it.
"""
