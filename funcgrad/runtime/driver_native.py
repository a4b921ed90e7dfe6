"""The driver: machine code that walks a program's records. Compiled like a kernel, once a machine.

Every value is an int64. The functions below are written in the words of system_words.py and compiled into one object;
`FUNCTIONS` lists them with their number of arguments. Four are called from Python, as C functions of a builtin
method (`call_arrays`, `call_packed`, `call_direct`, `call_stretch`), one is the body of a pool thread (`worker`).

Memory layouts (offsets in bytes) are the constants below; runtime/records.py and runtime/threads.py fill them in.
"""

# The functions' words are not Python names:
# ruff: noqa: F821
# pyright: reportUndefinedVariable=false

# ---- Python's objects: what follows the head of each --------------------------------------------------------
HEAD = object.__basicsize__
O_TYPE = HEAD - 8
O_DATA = HEAD  # of an ndarray: the address of its elements
O_SIZE = HEAD  # of a bytes object
O_BYTES = HEAD + 16

# ---- environment: one table a process -----------------------------------------------------------------------
E_SAVE_THREAD = 0  # PyEval_SaveThread
E_RESTORE_THREAD = 8
E_BYTES = 16  # PyBytes_FromStringAndSize
E_NONE = 24  # the address of None
E_ALLOCATE = 32  # aligned_alloc
E_FREE = 40
E_ADVISE = 48  # madvise, or 0
E_SYSCALL = 56  # syscall, or 0 (no futex)
E_FUTEX = 64  # its number
E_YIELD = 72  # sched_yield
E_CREATE = 80  # pthread_create, or 0
E_WORKER = 88  # address of `worker`
E_POOL = 96  # the thread pool, or 0
E_ONE = 104  # 1 in each dtype that E_GEMM has, 16 bytes apart
E_ZERO = 168
E_GEMM = 184  # sgemm, dgemm, cgemm, zgemm
E_NDARRAY = 216  # the type object of numpy.ndarray
E_BLAS_GET = 224  # get_num_threads of the library behind E_GEMM, or 0
E_BLAS_SET = 232
E_BLAS_USERS = 240
E_BLAS_BEFORE = 248
E_BLAS_LOCK = 256
E_AS_INT = 264  # PyLong_AsLongLong
E_INCREF = 272  # Py_IncRef
E_LAUNCHES = 280  # native steps run by this process so far
E_SIGNALS = 288  # PyErr_CheckSignals
E_GEMV = 296  # sgemv, dgemv, cgemv, zgemv
E_ASKED = 328  # address of `asked_to_stop`
E_BLOCKS = 336  # free blocks: two for each size class
E_BYTES_TOTAL = 336 + 16 * 64

# ---- state: one table an executable -------------------------------------------------------------------------
S_ENVIRONMENT = 0
S_CODE = 8  # records of the first stretch
S_ADDRESSES = 16  # how many inputs and outputs
S_CLASS = 24  # size class of its block: 2 ** class bytes
S_BUFFERS = 32  # offsets in the block: the table of a kernel's buffers
S_ARENA = 40
S_SCRATCH = 48
S_SCRATCH_STRIDE = 56  # bytes from one thread's scratch to the next
S_LONG = 64  # 1: release the GIL
S_BLAS = 72  # 1: has matrix products
S_CHECKS = 80  # 1: some kernel uses the threads' error records
S_STEPS = 88  # native steps, all stretches together
S_BYTES_TOTAL = 96

# ---- block: the private memory of one call: 64 bytes of state, then addresses, buffers, scratch, arena ---------
B_ERROR = 0  # step + 1, then the kernel's error record (check + 1, index, size)
B_THREAD = 32  # the thread state while the GIL is released, or 0
B_BUDGET = 40  # nanoseconds, about, that loops go on before they look for signals
B_STOPPED = 48  # 1: a signal's handler has raised, everything shall end
B_BASES = 64  # the addresses of inputs, outputs, arena, and the slots of loops

# ---- a thread's error record, the head of its scratch (the first 24 bytes are the kernel's) ---------------------
X_STOP = 32  # `asked_to_stop`, or 0
X_BLOCK = 40
X_ENVIRONMENT = 48
X_CALLER = 56  # 1: the thread that came from Python, which may look for signals
X_BYTES = 64

# ---- records ------------------------------------------------------------------------------------------------
R_KIND = 0  # 0 end, 1 kernel, 2 matrix product, 3 copy, 4 constant, 5 loop, 6 while, 7 branch, 8 matrix times vector
R_SIZE = 8  # bytes of the record
R_ADDRESS = 16  # of the kernel; a matrix product: its dtype's number (0 to 3)
R_DIMS = 24
R_EXTENT = 32
R_CHUNK = 40  # points a thread takes at once; 0: the caller alone
R_CHECKS = 48  # 1: checks indices, 2: a loop that asks whether to stop
R_STEP = 56
R_COUNT = 64  # number of buffers, then (base, offset) for each
R_REFS = 72
G_TRANS_A = 24  # of Fortran's first operand, which is our b
G_TRANS_B = 32
G_CHUNK = 40
G_M = 48
G_STEP = 56
G_N = 64
G_K = 72
G_LDA = 80
G_LDB = 88
G_LDC = 96
G_A = 104  # base, offset
G_B = 120
G_C = 136
G_ITEM = 152  # bytes of an element
G_SPLIT_ROWS = 160  # 1: threads share the rows of c, 0: its columns
G_AXES = 168  # number of batch axes, then (extent, stride of a, b, c in bytes) for each
G_BATCH = 176

C_FROM = 16  # base, offset
C_TO = 32
C_BYTES = 48
K_TO = 16  # base, offset
K_BYTES = 32
K_WORDS = 40  # two
L_LENGTH = 16  # a loop's; a while has the place of its predicate here: base, offset
L_PREDICATE = 16
L_COST = 32  # nanoseconds of a step, about, without the loops inside
L_SLOTS = 40  # how many
L_SWAPS = 48
L_BODY = 56  # where the body's records are, from the record's start
L_TEST = 64  # a while: the same for the test
L_RESULTS = 72  # a while: how many copies at the end
L_TABLE = 80  # slots: number, base, offset, stride; swaps: two numbers; results: number, base, offset, bytes
V_DTYPE = 16  # its number
V_TRANS = 24  # of Fortran's matrix, which is ours transposed
V_ROWS = 32  # of Fortran's matrix
V_COLUMNS = 40
V_LEADING = 48
V_STEP_X = 56
V_STEP_Y = 64
V_A = 72  # base, offset
V_X = 88
V_Y = 104
N_INDEX = 16  # base, offset
N_COUNT = 32  # number of branches, then where the records of each are
N_BRANCHES = 40

# ---- thread pool: fields that different threads write lie on different cache lines ---------------------------
P_LOCK = 0
P_SEQUENCE = 64
P_OPEN = 128
P_ACTIVE = 192
P_SLEEPERS = 256
P_WORKERS = 320  # how many to start
P_STARTED = 328
P_NUMBERED = 336
P_SPIN = 344
P_NEXT = 384
J_KIND = 448
J_ADDRESS = 456
J_BUFFERS = 464
J_DIMS = 472
J_EXTENT = 480
J_CHUNK = 488
J_SCRATCH = 496
J_STRIDE = 504
J_A = 512
J_B = 520
J_C = 528
J_ENVIRONMENT = 536
P_BYTES_TOTAL = 640

FUTEX_WAIT_PRIVATE = 128
FUTEX_WAKE_PRIVATE = 129
HUGE_CLASS = 22  # blocks of 4 MiB and more ask for huge pages
KEPT_CLASS = 31  # blocks of more than 2 GiB are not kept
MADV_HUGEPAGE = 14
PATIENCE = 20_000_000  # nanoseconds of loops, about, between two looks for signals
FAILED = 1  # an index check
INTERRUPTED = 2  # a signal's handler has raised


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


def gemm_part(env, record, a, b, c, lo, hi):
    """Rows (or columns) [lo, hi) of one matrix product."""
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
    if k == 0:
        for row in range(m):
            clear(c + row * ldc * item, n * item)
        return 0
    # our rows are Fortran's columns: c' = op(b)' op(a)'
    kind = peek(record + R_ADDRESS)
    address = peek(env + E_GEMM + kind * 8)
    blas_gemm(address, trans_b, trans_a, n, m, k, env + E_ONE + kind * 16, b, ldb, a, lda, env + E_ZERO, c, ldc)
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
        if peek(pool + J_KIND) == 1:
            call_kernel(peek(pool + J_ADDRESS), peek(pool + J_BUFFERS), peek(pool + J_DIMS), lo, hi, scratch)
        else:
            record = peek(pool + J_ADDRESS)
            gemm_part(peek(pool + J_ENVIRONMENT), record, peek(pool + J_A), peek(pool + J_B), peek(pool + J_C), lo, hi)


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
            # the kernel looks at the sequence once more, so that no job is slept through
            call4(peek(env + E_SYSCALL), peek(env + E_FUTEX), pool + P_SEQUENCE, FUTEX_WAIT_PRIVATE, sequence & 0xFFFFFFFF)
            atomic_add(pool + P_SLEEPERS, -1)
    return 0


def start_workers(env, pool):
    """At the first job of the process (or of a forked child)."""
    poke(pool + P_STARTED, 1)
    wanted = peek(pool + P_WORKERS)
    for _k in range(wanted):
        call4(peek(env + E_CREATE), pool + P_BYTES_TOTAL, 0, peek(env + E_WORKER), env)
    return 0


def share_out(env, kind, address, buffers, dims, extent, chunk, scratch, stride, a, b, c):
    """Run one job on the pool and the calling thread; 0 when the pool is busy (nothing has been done then)."""
    pool = peek(env + E_POOL)
    if pool == 0:
        return 0
    if peek(pool + P_WORKERS) == 0 or atomic_replace(pool + P_LOCK, 0, 1) == 0:
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


def product(env, state, block, record, a, b, c):
    """One matrix product, by chunks whether shared out or not, so that its bits do not depend on who was free."""
    chunk = peek(record + G_CHUNK)
    extent = peek(record + G_N)
    if peek(record + G_SPLIT_ROWS) != 0:
        extent = peek(record + G_M)
    if chunk == 0:
        return gemm_part(env, record, a, b, c, 0, extent)
    if share_out(env, 2, record, 0, 0, extent, chunk, 0, 0, a, b, c) == 0:
        lo = 0
        while lo < extent:
            gemm_part(env, record, a, b, c, lo, min_(lo + chunk, extent))
            lo += chunk
    return 0


def run_gemm(env, state, block, record):
    """A matrix product for every point of its batch axes."""
    bases = block + B_BASES
    a = peek(bases + peek(record + G_A) * 8) + peek(record + G_A + 8)
    b = peek(bases + peek(record + G_B) * 8) + peek(record + G_B + 8)
    c = peek(bases + peek(record + G_C) * 8) + peek(record + G_C + 8)
    axes = peek(record + G_AXES)
    points = 1
    for k in range(axes):
        points = points * peek(record + G_BATCH + k * 32)
    for point in range(points):
        rest = point
        at_a = a
        at_b = b
        at_c = c
        for j in range(axes):
            axis = record + G_BATCH + (axes - 1 - j) * 32
            extent = peek(axis)
            position = rest % extent
            rest = rest // extent
            at_a = at_a + position * peek(axis + 8)
            at_b = at_b + position * peek(axis + 16)
            at_c = at_c + position * peek(axis + 24)
        product(env, state, block, record, at_a, at_b, at_c)
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
            run_gemm(env, state, block, record)
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


FUNCTIONS = {
    "acquire_block": 2,
    "release_block": 3,
    "gemm_part": 7,
    "work": 2,
    "worker": 1,
    "start_workers": 2,
    "share_out": 12,
    "run_kernel": 4,
    "product": 7,
    "run_gemm": 4,
    "run_gemv": 3,
    "address_of": 2,
    "move_bytes": 3,
    "put_constant": 2,
    "look_for_signals": 2,
    "asked_to_stop": 1,
    "start_slots": 2,
    "advance": 3,
    "run_loop": 4,
    "run_while": 4,
    "run_branch": 4,
    "steps": 4,
    "walk": 4,
    "lock_blas": 1,
    "enter_blas": 1,
    "leave_blas": 1,
    "run": 4,
    "answer": 3,
    "refuse": 1,
    "prepare": 2,
    "call_arrays": 3,
    "call_packed": 2,
    "call_direct": 3,
    "call_stretch": 2,
}
ENTRIES = ("worker", "asked_to_stop", "prepare", "call_arrays", "call_packed", "call_direct", "call_stretch", "release_block")
