"""The memory that the driver works on: tables of int64, and where in them each thing is (offsets in bytes).

Constants only. runtime/records.py, threads.py, driver.py and executable.py fill the tables in; the
driver's functions (driver_work.py, driver_walk.py, driver_entries.py) read them.
"""

PREFIX = "fg_driver_"  # of the driver's functions, as symbols

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
E_CLOCK = 336  # clock_gettime, or 0
E_BLOCKS = 344  # free blocks: two for each size class
E_BYTES_TOTAL = 344 + 16 * 64

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

# ---- block: the private memory of one call: 80 bytes of state, then addresses, buffers, scratch, arena ---------
B_ERROR = 0  # step + 1, then the kernel's error record (check + 1, index, size)
B_THREAD = 32  # the thread state while the GIL is released, or 0
B_BUDGET = 40  # nanoseconds, about, that loops go on before they look for signals
B_STOPPED = 48  # 1: a signal's handler has raised, everything shall end
B_CLOCK = 64  # two words for the clock
B_BASES = 80  # the addresses of inputs, outputs, arena, and the slots of loops

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
G_AXES = 168  # number of batch axes
G_SUMS = 176  # of their points, so many neighbours add up to one result
G_SHARE = 184  # results that a thread takes at once; 0: each product is shared by itself
G_BATCH = 192  # (extent, stride of a, b, c in bytes) for each axis

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
P_REST = 576  # until this time jobs are not shared out
P_PENALTY = 584  # how long that was the last time
P_WALL = 592  # in the runs of this window: nanoseconds that passed,
P_RAN = 600  # in which the caller had a processor,
P_IDLE = 608  # in which it waited for others
P_CLOCK = 616  # two words for the clock
P_BYTES_TOTAL = 640

CLOCK_MONOTONIC = 1
CLOCK_THREAD = 3  # processor time of the calling thread
WINDOW = 20_000_000  # nanoseconds
PENALTY_FIRST = 100_000_000
PENALTY_MOST = 2_000_000_000

FUTEX_WAIT_PRIVATE = 128
FUTEX_WAKE_PRIVATE = 129
HUGE_CLASS = 22  # blocks of 4 MiB and more ask for huge pages
KEPT_CLASS = 31  # blocks of more than 2 GiB are not kept
MADV_HUGEPAGE = 14
PATIENCE = 20_000_000  # nanoseconds of loops, about, between two looks for signals
FAILED = 1  # an index check
INTERRUPTED = 2  # a signal's handler has raised
