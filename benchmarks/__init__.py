"""Benchmarks: each row is one program text that runs under funcgrad and, unchanged, under a peer (jax) of another environment.

    python -m benchmarks                      every row, funcgrad alone
    python -m benchmarks --once               every body once, no timing (what CI runs)
    python -m benchmarks softmax mlp          rows whose name contains one of the words
    FUNCGRAD_PEER_PYTHON=/path/to/python python -m benchmarks      side by side with the peer installed there

The two sides run in processes of their own, in alternating rounds (A B A B ...), on the same inputs; a row whose
answers differ has no ratio. Below 1 means that funcgrad is faster. See `_harness.py` for how a number is taken.
"""
