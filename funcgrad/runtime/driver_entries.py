"""The driver's ways in from Python, as C functions of a builtin method (`call_arrays`, `call_packed`, `call_direct`,
`call_stretch`), and what surrounds a run: the GIL, the BLAS library's threads, the answer.

Its functions call those of driver_walk.py and driver_work.py; see there.
"""

# The functions' words are not Python names:
# ruff: noqa: F821
# pyright: reportUndefinedVariable=false

from funcgrad.runtime.driver_layout import (
    B_BASES,
    B_BUDGET,
    B_CLOCK,
    B_STOPPED,
    B_THREAD,
    CLOCK_MONOTONIC,
    CLOCK_THREAD,
    E_AS_INT,
    E_BLAS_BEFORE,
    E_BLAS_GET,
    E_BLAS_LOCK,
    E_BLAS_SET,
    E_BLAS_USERS,
    E_BYTES,
    E_INCREF,
    E_LAUNCHES,
    E_NDARRAY,
    E_NONE,
    E_POOL,
    E_RESTORE_THREAD,
    E_SAVE_THREAD,
    INTERRUPTED,
    O_BYTES,
    O_DATA,
    O_SIZE,
    O_TYPE,
    PATIENCE,
    S_ADDRESSES,
    S_ARENA,
    S_BLAS,
    S_CLASS,
    S_CODE,
    S_LONG,
    S_STEPS,
)


def lock_blas(env):
    while atomic_replace(env + E_BLAS_LOCK, 0, 1) == 0:
        pause()
    return 0


def enter_blas(env):
    """The library's own threads off while a program of ours runs: two pools must not fight for the processors."""
    if peek(env + E_BLAS_SET) == 0:
        return 0
    lock_blas(env)
    users = peek(env + E_BLAS_USERS)
    if users == 0:
        before = call0(peek(env + E_BLAS_GET)) & 0xFFFFFFFF
        poke(env + E_BLAS_BEFORE, before)
        if before != 1:
            call1(peek(env + E_BLAS_SET), 1)
    poke(env + E_BLAS_USERS, users + 1)
    atomic_store(env + E_BLAS_LOCK, 0)
    return 0


def leave_blas(env):
    if peek(env + E_BLAS_SET) == 0:
        return 0
    lock_blas(env)
    users = peek(env + E_BLAS_USERS) - 1
    poke(env + E_BLAS_USERS, users)
    if users == 0 and peek(env + E_BLAS_BEFORE) != 1:
        call1(peek(env + E_BLAS_SET), peek(env + E_BLAS_BEFORE))
    atomic_store(env + E_BLAS_LOCK, 0)
    return 0


def run(env, state, block, code):
    """`walk` with what surrounds it: the GIL and the BLAS library's threads."""
    poke(block + B_STOPPED, 0)
    poke(block + B_THREAD, 0)
    poke(block + B_BUDGET, PATIENCE)
    if peek(state + S_LONG) != 0:
        poke(block + B_THREAD, call0(peek(env + E_SAVE_THREAD)))
    if peek(state + S_BLAS) != 0:
        enter_blas(env)
    pool = peek(env + E_POOL)
    if pool != 0 and peek(state + S_LONG) != 0:
        started = now(env, block + B_CLOCK, CLOCK_MONOTONIC)
        ran = now(env, block + B_CLOCK, CLOCK_THREAD)
        failed = walk(env, state, block, code)
        judge(env, pool, block + B_CLOCK, started, ran)
    else:
        failed = walk(env, state, block, code)
    if peek(state + S_BLAS) != 0:
        leave_blas(env)
    thread = peek(block + B_THREAD)
    if thread != 0:
        call1(peek(env + E_RESTORE_THREAD), thread)
    return failed


def answer(env, failed, block):
    """None, or a bytes object with the error; nothing (and Python's error is set) after an interrupt."""
    if failed == INTERRUPTED:
        return 0
    if failed != 0:
        return call2(peek(env + E_BYTES), block, 32)
    none = peek(env + E_NONE)
    call1(peek(env + E_INCREF), none)
    return none


def refuse(env):
    """An empty bytes object: the arguments are not what this entry takes."""
    return call2(peek(env + E_BYTES), 0, 0)


def prepare(env, state):
    """A block for one call, counted; 0 without memory."""
    atomic_add(env + E_LAUNCHES, peek(state + S_STEPS))
    return acquire_block(env, peek(state + S_CLASS))


def call_arrays(self, args, count):
    """Builtin method, METH_FASTCALL: exact ndarrays, inputs then outputs."""
    state = peek(self + O_DATA)
    env = peek(state)
    wanted = peek(state + S_ADDRESSES)
    if count != wanted:
        return refuse(env)
    block = prepare(env, state)
    if block == 0:
        return refuse(env)
    bases = block + B_BASES
    ndarray = peek(env + E_NDARRAY)
    for k in range(wanted):
        array = peek(args + k * 8)
        if peek(array + O_TYPE) != ndarray:
            release_block(env, peek(state + S_CLASS), block)
            return refuse(env)
        poke(bases + k * 8, peek(array + O_DATA))
    poke(bases + wanted * 8, block + peek(state + S_ARENA))
    failed = run(env, state, block, peek(state + S_CODE))
    result = answer(env, failed, block)
    release_block(env, peek(state + S_CLASS), block)
    return result


def call_packed(self, packed):
    """Builtin method, METH_O: a bytes object of addresses, inputs then outputs."""
    state = peek(self + O_DATA)
    env = peek(state)
    wanted = peek(state + S_ADDRESSES)
    if peek(packed + O_SIZE) != wanted * 8:
        return refuse(env)
    block = prepare(env, state)
    if block == 0:
        return refuse(env)
    bases = block + B_BASES
    for k in range(wanted):
        poke(bases + k * 8, peek(packed + O_BYTES + k * 8))
    poke(bases + wanted * 8, block + peek(state + S_ARENA))
    failed = run(env, state, block, peek(state + S_CODE))
    result = answer(env, failed, block)
    release_block(env, peek(state + S_CLASS), block)
    return result


def call_direct(self, args, count):
    """Builtin method, METH_FASTCALL: addresses as Python ints, inputs then outputs."""
    state = peek(self + O_DATA)
    env = peek(state)
    wanted = peek(state + S_ADDRESSES)
    if count != wanted:
        return refuse(env)
    block = prepare(env, state)
    if block == 0:
        return refuse(env)
    bases = block + B_BASES
    convert = peek(env + E_AS_INT)
    for k in range(wanted):
        address = call1(convert, peek(args + k * 8))
        if address == -1:  # not an int: Python's error is set
            release_block(env, peek(state + S_CLASS), block)
            return 0
        poke(bases + k * 8, address)
    poke(bases + wanted * 8, block + peek(state + S_ARENA))
    failed = run(env, state, block, peek(state + S_CODE))
    result = answer(env, failed, block)
    release_block(env, peek(state + S_CLASS), block)
    return result


def call_stretch(self, packed):
    """Builtin method, METH_O: bytes of (block, code): one stretch of a program with host steps; the block's
    addresses are filled in already."""
    state = peek(self + O_DATA)
    env = peek(state)
    block = peek(packed + O_BYTES)
    return answer(env, run(env, state, block, peek(packed + O_BYTES + 8)), block)
