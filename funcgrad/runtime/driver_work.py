"""The driver's steps, one by one: memory, kernels and matrix products, shared out to the threads of the pool.

The driver is machine code that walks a program's records, compiled once a machine. Its functions stand here and in
driver_walk.py and driver_entries.py, written in the words of system_words.py; every value is an int64.
"""

# The functions' words are not Python names:
# ruff: noqa: F821
# pyright: reportUndefinedVariable=false

from funcgrad.runtime.driver_layout import (
    B_BASES,
    B_ERROR,
    B_STOPPED,
    CLOCK_MONOTONIC,
    CLOCK_THREAD,
    E_ADVISE,
    E_ALLOCATE,
    E_ASKED,
    E_BLOCKS,
    E_CLOCK,
    E_CREATE,
    E_FREE,
    E_FUTEX,
    E_GEMM,
    E_GEMV,
    E_ONE,
    E_POOL,
    E_SYSCALL,
    E_WORKER,
    E_YIELD,
    E_ZERO,
    FAILED,
    FUTEX_WAIT_PRIVATE,
    FUTEX_WAKE_PRIVATE,
    G_A,
    G_AXES,
    G_B,
    G_BATCH,
    G_C,
    G_CHUNK,
    G_ITEM,
    G_K,
    G_LDA,
    G_LDB,
    G_LDC,
    G_M,
    G_N,
    G_SHARE,
    G_SPLIT_ROWS,
    G_SUMS,
    G_TRANS_A,
    G_TRANS_B,
    HUGE_CLASS,
    INTERRUPTED,
    J_A,
    J_ADDRESS,
    J_B,
    J_BUFFERS,
    J_C,
    J_CHUNK,
    J_DIMS,
    J_ENVIRONMENT,
    J_EXTENT,
    J_KIND,
    J_SCRATCH,
    J_STRIDE,
    K_BYTES,
    K_TO,
    K_WORDS,
    KEPT_CLASS,
    MADV_HUGEPAGE,
    P_ACTIVE,
    P_BYTES_TOTAL,
    P_CLOCK,
    P_IDLE,
    P_LOCK,
    P_NEXT,
    P_NUMBERED,
    P_OPEN,
    P_PENALTY,
    P_RAN,
    P_REST,
    P_SEQUENCE,
    P_SLEEPERS,
    P_SPIN,
    P_STARTED,
    P_WALL,
    P_WORKERS,
    PENALTY_FIRST,
    PENALTY_MOST,
    R_ADDRESS,
    R_CHECKS,
    R_CHUNK,
    R_COUNT,
    R_DIMS,
    R_EXTENT,
    R_REFS,
    R_STEP,
    S_BUFFERS,
    S_SCRATCH,
    S_SCRATCH_STRIDE,
    V_A,
    V_COLUMNS,
    V_DTYPE,
    V_LEADING,
    V_ROWS,
    V_STEP_X,
    V_STEP_Y,
    V_TRANS,
    V_X,
    V_Y,
    WINDOW,
    X_BLOCK,
    X_CALLER,
    X_ENVIRONMENT,
    X_STOP,
)


def acquire_block(env, size_class):
    """A block of 2 ** size_class bytes, an old one if there is one; 0 without memory."""
    place = env + E_BLOCKS + size_class * 16
    block = atomic_swap(place, 0)
    if block == 0:
        block = atomic_swap(place + 8, 0)
    if block == 0:
        size = 1 << size_class
        if size_class >= HUGE_CLASS:
            block = call2(peek(env + E_ALLOCATE), 1 << 21, size)
            advise = peek(env + E_ADVISE)
            if advise != 0 and block != 0:
                call3(advise, block, size, MADV_HUGEPAGE)
        else:
            block = call2(peek(env + E_ALLOCATE), 64, size)
    return block


def release_block(env, size_class, block):
    place = env + E_BLOCKS + size_class * 16
    if size_class <= KEPT_CLASS:
        if atomic_replace(place, 0, block) != 0:
            return 0
        if atomic_replace(place + 8, 0, block) != 0:
            return 0
    call1(peek(env + E_FREE), block)
    return 0


def gemm_part(env, record, a, b, c, lo, hi, more):
    """Rows (or columns) [lo, hi) of one matrix product, added to what is there where `more` is not 0."""
    m = peek(record + G_M)
    n = peek(record + G_N)
    item = peek(record + G_ITEM)
    lda = peek(record + G_LDA)
    ldb = peek(record + G_LDB)
    ldc = peek(record + G_LDC)
    trans_a = peek(record + G_TRANS_A)
    trans_b = peek(record + G_TRANS_B)
    if peek(record + G_SPLIT_ROWS) != 0:
        step = lda
        if trans_a == 84:
            step = 1
        a = a + lo * step * item
        c = c + lo * ldc * item
        m = hi - lo
    else:
        step = 1
        if trans_b == 84:
            step = ldb
        b = b + lo * step * item
        c = c + lo * item
        n = hi - lo
    k = peek(record + G_K)
    if k == 0 and more != 0:
        return 0
    if k == 0:
        for row in range(m):
            clear(c + row * ldc * item, n * item)
        return 0
    # our rows are Fortran's columns: c' = op(b)' op(a)'
    kind = peek(record + R_ADDRESS)
    address = peek(env + E_GEMM + kind * 8)
    one = env + E_ONE + kind * 16
    beta = env + E_ZERO
    if more != 0:
        beta = one
    blas_gemm(address, trans_b, trans_a, n, m, k, one, b, ldb, a, lda, beta, c, ldc)
    return 0


def work(pool, scratch):
    """Take chunks of the pool's job until none is left."""
    extent = peek(pool + J_EXTENT)
    chunk = peek(pool + J_CHUNK)
    while True:
        lo = atomic_add(pool + P_NEXT, chunk)
        if lo >= extent:
            return 0
        hi = min_(lo + chunk, extent)
        kind = peek(pool + J_KIND)
        address = peek(pool + J_ADDRESS)
        env = peek(pool + J_ENVIRONMENT)
        more = peek(pool + J_DIMS)  # of a matrix product
        if kind == 1:
            call_kernel(address, peek(pool + J_BUFFERS), more, lo, hi, scratch)
        elif kind == 2:
            gemm_part(env, address, peek(pool + J_A), peek(pool + J_B), peek(pool + J_C), lo, hi, more)
        else:
            run_points(env, address, peek(pool + J_A), peek(pool + J_B), peek(pool + J_C), lo, hi, 1)


def worker(env):
    """The life of a pool thread: wait for a job (spinning for a while, then asleep), help, wait again."""
    pool = peek(env + E_POOL)
    number = atomic_add(pool + P_NUMBERED, 1) + 1
    while True:
        sequence = atomic_load(pool + P_SEQUENCE)
        if atomic_load(pool + P_OPEN) != 0:
            atomic_add(pool + P_ACTIVE, 1)
            if atomic_load(pool + P_OPEN) != 0:
                work(pool, peek(pool + J_SCRATCH) + number * peek(pool + J_STRIDE))
            atomic_add(pool + P_ACTIVE, -1)
        spins = peek(pool + P_SPIN)
        while spins > 0 and atomic_load(pool + P_SEQUENCE) == sequence:
            pause()
            spins -= 1
        if spins == 0:
            atomic_add(pool + P_SLEEPERS, 1)
            # the kernel looks at the sequence once more, so that no job is slept through; the last 0: without a limit of time
            call5(peek(env + E_SYSCALL), peek(env + E_FUTEX), pool + P_SEQUENCE, FUTEX_WAIT_PRIVATE, sequence & 0xFFFFFFFF, 0)
            atomic_add(pool + P_SLEEPERS, -1)
    return 0


def start_workers(env, pool):
    """At the first job of the process (or of a forked child)."""
    poke(pool + P_STARTED, 1)
    wanted = peek(pool + P_WORKERS)
    for _k in range(wanted):
        call4(peek(env + E_CREATE), pool + P_BYTES_TOTAL, 0, peek(env + E_WORKER), env)
    return 0


def now(env, place, clock):
    """Nanoseconds of a clock, 0 where there is none; `place` is two words to write."""
    address = peek(env + E_CLOCK)
    if address == 0:
        return 0
    call2(address, clock, place)
    return peek(place) * 1_000_000_000 + peek(place + 8)


def judge(env, pool, place, started, ran):
    """After a run: were the processors free for it? Where they are busy with other things, threads wait for threads that do not
    run, and sharing out makes everything slower. So when the caller has worked for less than three quarters of the time, nothing
    is shared out for a while, longer each time in a row."""
    time = now(env, place, CLOCK_MONOTONIC)
    wall = atomic_add(pool + P_WALL, time - started) + time - started
    atomic_add(pool + P_RAN, now(env, place, CLOCK_THREAD) - ran)
    if wall < WINDOW:
        return 0
    atomic_store(pool + P_WALL, 0)
    worked = atomic_swap(pool + P_RAN, 0) - atomic_swap(pool + P_IDLE, 0)
    penalty = peek(pool + P_PENALTY)
    if 4 * worked < 3 * wall:
        penalty = min_(max_(2 * penalty, PENALTY_FIRST), PENALTY_MOST)
        poke(pool + P_REST, time + penalty)
    else:
        penalty = penalty >> 1
    poke(pool + P_PENALTY, penalty)
    return 0


def share_out(env, kind, address, buffers, dims, extent, chunk, scratch, stride, a, b, c):
    """Run one job on the pool and the calling thread; 0 when the pool is busy (nothing has been done then)."""
    pool = peek(env + E_POOL)
    if pool == 0:
        return 0
    if peek(pool + P_WORKERS) == 0 or atomic_replace(pool + P_LOCK, 0, 1) == 0:
        return 0
    if now(env, pool + P_CLOCK, CLOCK_MONOTONIC) < peek(pool + P_REST):
        atomic_store(pool + P_LOCK, 0)
        return 0
    if peek(pool + P_STARTED) == 0:
        start_workers(env, pool)
    poke(pool + J_KIND, kind)
    poke(pool + J_ADDRESS, address)
    poke(pool + J_BUFFERS, buffers)
    poke(pool + J_DIMS, dims)
    poke(pool + J_EXTENT, extent)
    poke(pool + J_CHUNK, chunk)
    poke(pool + J_SCRATCH, scratch)
    poke(pool + J_STRIDE, stride)
    poke(pool + J_A, a)
    poke(pool + J_B, b)
    poke(pool + J_C, c)
    poke(pool + J_ENVIRONMENT, env)
    atomic_store(pool + P_NEXT, 0)
    atomic_store(pool + P_OPEN, 1)
    atomic_add(pool + P_SEQUENCE, 1)
    if atomic_load(pool + P_SLEEPERS) > 0:
        call4(peek(env + E_SYSCALL), peek(env + E_FUTEX), pool + P_SEQUENCE, FUTEX_WAKE_PRIVATE, 0x7FFFFFFF)
    work(pool, scratch)
    finished = now(env, pool + P_CLOCK, CLOCK_MONOTONIC)
    atomic_store(pool + P_OPEN, 0)
    # only threads that took a chunk are waited for; give up the processor if one of them has lost its own
    spins = 0
    while atomic_load(pool + P_ACTIVE) != 0:
        pause()
        spins += 1
        if spins > 4000:
            call0(peek(env + E_YIELD))
            if kind == 1 and c != 0 and spins & 0x3FFF == 0:  # of a matrix product, c is the matrix
                asked_to_stop(c)
    atomic_add(pool + P_IDLE, now(env, pool + P_CLOCK, CLOCK_MONOTONIC) - finished)
    atomic_store(pool + P_LOCK, 0)
    return 1


def run_kernel(env, state, block, record):
    """One kernel step; FAILED when an index check failed."""
    bases = block + B_BASES
    buffers = block + peek(state + S_BUFFERS)
    scratch = block + peek(state + S_SCRATCH)
    count = peek(record + R_COUNT)
    for k in range(count):
        ref = record + R_REFS + k * 16
        poke(buffers + k * 8, peek(bases + peek(ref) * 8) + peek(ref + 8))
    extent = peek(record + R_EXTENT)
    chunk = peek(record + R_CHUNK)
    address = peek(record + R_ADDRESS)
    dims = peek(record + R_DIMS)
    shared = 0
    checks = peek(record + R_CHECKS)
    asker = 0
    if checks & 2 != 0:
        asker = scratch
        threads = 1
        if chunk != 0 and peek(env + E_POOL) != 0:
            threads = peek(peek(env + E_POOL) + P_WORKERS) + 1
        for t in range(threads):
            head = scratch + t * peek(state + S_SCRATCH_STRIDE)
            poke(head + X_STOP, peek(env + E_ASKED))
            poke(head + X_BLOCK, block)
            poke(head + X_ENVIRONMENT, env)
            poke(head + X_CALLER, 0)
        poke(scratch + X_CALLER, 1)
    if chunk != 0:
        stride = peek(state + S_SCRATCH_STRIDE)
        shared = share_out(env, 1, address, buffers, dims, extent, chunk, scratch, stride, 0, 0, asker)
    if shared == 0:
        call_kernel(address, buffers, dims, 0, extent, scratch)
    if checks & 2 != 0 and peek(block + B_STOPPED) != 0:
        return INTERRUPTED
    if checks & 1 != 0:
        threads = 1
        if shared != 0:
            threads = peek(peek(env + E_POOL) + P_WORKERS) + 1
        for t in range(threads):
            error = scratch + t * peek(state + S_SCRATCH_STRIDE)
            if peek(error) != 0:
                poke(block + B_ERROR, peek(record + R_STEP) + 1)
                poke(block + B_ERROR + 8, peek(error))
                poke(block + B_ERROR + 16, peek(error + 8))
                poke(block + B_ERROR + 24, peek(error + 16))
                return FAILED
    return 0


def product(env, record, a, b, c, more):
    """One matrix product, by chunks whether shared out or not, so that its bits do not depend on who was free."""
    chunk = peek(record + G_CHUNK)
    extent = peek(record + G_N)
    if peek(record + G_SPLIT_ROWS) != 0:
        extent = peek(record + G_M)
    if chunk == 0:
        return gemm_part(env, record, a, b, c, 0, extent, more)
    if share_out(env, 2, record, 0, more, extent, chunk, 0, 0, a, b, c) == 0:
        lo = 0
        while lo < extent:
            gemm_part(env, record, a, b, c, lo, min_(lo + chunk, extent), more)
            lo += chunk
    return 0


def run_points(env, record, a, b, c, lo, hi, whole):
    """The matrix products of the results [lo, hi) along the batch axes, each by this thread alone where `whole` is not 0."""
    axes = peek(record + G_AXES)
    sums = peek(record + G_SUMS)
    extent = peek(record + G_N)
    if peek(record + G_SPLIT_ROWS) != 0:
        extent = peek(record + G_M)
    point = lo * sums
    while point < hi * sums:
        rest = point
        at_a = a
        at_b = b
        at_c = c
        for j in range(axes):
            axis = record + G_BATCH + (axes - 1 - j) * 32
            position = rest % peek(axis)
            rest = rest // peek(axis)
            at_a = at_a + position * peek(axis + 8)
            at_b = at_b + position * peek(axis + 16)
            at_c = at_c + position * peek(axis + 24)
        more = point % sums
        if whole != 0:
            gemm_part(env, record, at_a, at_b, at_c, 0, extent, more)
        else:
            product(env, record, at_a, at_b, at_c, more)
        point += 1
    return 0


def run_gemm(env, block, record):
    """A matrix product for every point of its batch axes."""
    a = address_of(block, record + G_A)
    b = address_of(block, record + G_B)
    c = address_of(block, record + G_C)
    results = 1
    for k in range(peek(record + G_AXES)):
        results = results * peek(record + G_BATCH + k * 32)
    results = results // peek(record + G_SUMS)
    chunk = peek(record + G_SHARE)
    if chunk == 0:
        return run_points(env, record, a, b, c, 0, results, 0)
    if share_out(env, 3, record, 0, 0, results, chunk, 0, 0, a, b, c) == 0:
        return run_points(env, record, a, b, c, 0, results, 1)
    return 0


def run_gemv(env, block, record):
    """A matrix times a vector."""
    kind = peek(record + V_DTYPE)
    a = address_of(block, record + V_A)
    x = address_of(block, record + V_X)
    y = address_of(block, record + V_Y)
    m = peek(record + V_ROWS)
    n = peek(record + V_COLUMNS)
    one = env + E_ONE + kind * 16
    address = peek(env + E_GEMV + kind * 8)
    trans = peek(record + V_TRANS)
    step_x = peek(record + V_STEP_X)
    blas_gemv(address, trans, m, n, one, a, peek(record + V_LEADING), x, step_x, env + E_ZERO, y, peek(record + V_STEP_Y))
    return 0


def address_of(block, ref):
    """The address that (base, offset) at `ref` stand for."""
    return peek(block + B_BASES + peek(ref) * 8) + peek(ref + 8)


def move_bytes(source, target, count):
    """One place to another; small counts at once."""
    if source == target:
        return 0
    if count == 8:
        return poke(target, peek(source))
    return copy_bytes(target, source, count)


def put_constant(block, record):
    target = address_of(block, record + K_TO)
    count = peek(record + K_BYTES)
    if count == 8:
        return poke(target, peek(record + K_WORDS))
    return copy_bytes(target, record + K_WORDS, count)
