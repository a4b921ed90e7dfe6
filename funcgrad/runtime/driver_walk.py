"""The driver's way through the records: sequences, loops, branches, and the looks for signals on the way.

Its functions call those of driver_work.py; see there.
"""

# The functions' words are not Python names:
# ruff: noqa: F821
# pyright: reportUndefinedVariable=false

from funcgrad.runtime.driver_layout import (
    B_BASES,
    B_BUDGET,
    B_STOPPED,
    B_THREAD,
    C_BYTES,
    C_FROM,
    C_TO,
    E_POOL,
    E_RESTORE_THREAD,
    E_SAVE_THREAD,
    E_SIGNALS,
    INTERRUPTED,
    L_BODY,
    L_COST,
    L_LENGTH,
    L_PREDICATE,
    L_RESULTS,
    L_SLOTS,
    L_SWAPS,
    L_TABLE,
    L_TEST,
    N_BRANCHES,
    N_COUNT,
    N_INDEX,
    P_WORKERS,
    PATIENCE,
    R_SIZE,
    S_CHECKS,
    S_SCRATCH,
    S_SCRATCH_STRIDE,
    X_BLOCK,
    X_BYTES,
    X_CALLER,
    X_ENVIRONMENT,
)


def look_for_signals(env, block):
    """Let Python run its signal handlers; INTERRUPTED when one of them raised. From here on other threads may run Python."""
    poke(block + B_BUDGET, PATIENCE)
    thread = peek(block + B_THREAD)
    if thread != 0:
        call1(peek(env + E_RESTORE_THREAD), thread)
    found = call0(peek(env + E_SIGNALS)) & 0xFFFFFFFF
    poke(block + B_THREAD, call0(peek(env + E_SAVE_THREAD)))
    if found != 0:
        poke(block + B_STOPPED, 1)
        return INTERRUPTED
    return 0


def asked_to_stop(scratch):
    """What a loop inside a kernel asks now and then: whether it shall end."""
    block = peek(scratch + X_BLOCK)
    if atomic_load(block + B_STOPPED) != 0:
        return 1
    if peek(scratch + X_CALLER) == 0:
        return 0
    return look_for_signals(peek(scratch + X_ENVIRONMENT), block)


def start_slots(block, record):
    place = record + L_TABLE
    for _k in range(peek(record + L_SLOTS)):
        poke(block + B_BASES + peek(place) * 8, address_of(block, place + 8))
        place += 32
    return 0


def advance(env, block, record):
    """After a step of a loop: move the slots, change the places of those that take turns; now and then look for signals."""
    bases = block + B_BASES
    place = record + L_TABLE
    for _k in range(peek(record + L_SLOTS)):
        stride = peek(place + 24)
        if stride != 0:
            slot = bases + peek(place) * 8
            poke(slot, peek(slot) + stride)
        place += 32
    for _k in range(peek(record + L_SWAPS)):
        a = bases + peek(place) * 8
        b = bases + peek(place + 8) * 8
        kept = peek(a)
        poke(a, peek(b))
        poke(b, kept)
        place += 16
    left = peek(block + B_BUDGET) - peek(record + L_COST)
    poke(block + B_BUDGET, left)
    if left < 0:
        return look_for_signals(env, block)
    return 0


def run_loop(env, state, block, record):
    """A loop of known length."""
    start_slots(block, record)
    body = record + peek(record + L_BODY)
    for _k in range(peek(record + L_LENGTH)):
        failed = steps(env, state, block, body)
        if failed != 0:
            return failed
        failed = advance(env, block, record)
        if failed != 0:
            return failed
    return 0


def run_while(env, state, block, record):
    """A loop for as long as its test leaves a true byte."""
    start_slots(block, record)
    body = record + peek(record + L_BODY)
    test = record + peek(record + L_TEST)
    while True:
        failed = steps(env, state, block, test)
        if failed != 0:
            return failed
        if peek_byte(address_of(block, record + L_PREDICATE)) == 0:
            break
        failed = steps(env, state, block, body)
        if failed != 0:
            return failed
        failed = advance(env, block, record)
        if failed != 0:
            return failed
    place = record + L_TABLE + peek(record + L_SLOTS) * 32 + peek(record + L_SWAPS) * 16
    for _k in range(peek(record + L_RESULTS)):
        move_bytes(peek(block + B_BASES + peek(place) * 8), address_of(block, place + 8), peek(place + 24))
        place += 32
    return 0


def run_branch(env, state, block, record):
    """The branch that an int32 names, moved inside."""
    word = peek_word(address_of(block, record + N_INDEX))
    index = max_(0, min_(word, peek(record + N_COUNT) - 1))
    return steps(env, state, block, record + peek(record + N_BRANCHES + index * 8))


def steps(env, state, block, code):
    """Records to their end; FAILED when a check failed (the error is in the block), or INTERRUPTED."""
    record = code
    while True:
        kind = peek(record)
        if kind == 0:
            return 0
        failed = 0
        if kind == 1:
            failed = run_kernel(env, state, block, record)
        elif kind == 2:
            run_gemm(env, block, record)
        elif kind == 3:
            move_bytes(address_of(block, record + C_FROM), address_of(block, record + C_TO), peek(record + C_BYTES))
        elif kind == 4:
            put_constant(block, record)
        elif kind == 5:
            failed = run_loop(env, state, block, record)
        elif kind == 6:
            failed = run_while(env, state, block, record)
        elif kind == 7:
            failed = run_branch(env, state, block, record)
        else:
            run_gemv(env, block, record)
        if failed != 0:
            return failed
        record = record + peek(record + R_SIZE)


def walk(env, state, block, code):
    """The records of one stretch, with clean error records."""
    if peek(state + S_CHECKS) != 0:
        scratch = block + peek(state + S_SCRATCH)
        stride = peek(state + S_SCRATCH_STRIDE)
        threads = 1
        if peek(env + E_POOL) != 0:
            threads = peek(peek(env + E_POOL) + P_WORKERS) + 1
        for t in range(threads):
            clear(scratch + t * stride, X_BYTES)
    return steps(env, state, block, code)
