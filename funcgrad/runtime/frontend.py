"""numba's front end, cut down: a plain Python function and its argument types -> LLVM text.

Enters: a function written in the words of `intrinsics.NAMESPACE`. Leaves: the text of one LLVM module that defines
it with the C calling convention (no exceptions, no reference counts, no wrappers), and its return type.
Nothing here touches numba's own contexts or registries: a user's numba code is neither affected nor affects us.
"""

import operator
from functools import cached_property

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import callconv, cgutils, compiler, errors, funcdesc, lowering, types, typing
from numba.core.bytecode import ByteCode, FunctionIdentity
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.interpreter import Interpreter
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import PreLowerStripPhis, type_inference_stage
from numba.core.typing.context import BaseContext
from numba.cpython import builtins, numbers, rangeobj  # noqa: F401  (they register what lowering looks up)

from funcgrad.runtime import pointers
from funcgrad.runtime.keys import TRIPLE
from funcgrad.runtime.pointers import I64, Pointer, Word

_OVERLOADS = (typing.templates._OverloadFunctionTemplate, typing.templates._TemplateTargetHelperMixin)


class _CABI(callconv.MinimalCallConv):
    """Arguments and result as C has them; nothing can be raised."""

    def get_function_type(self, restype, argtypes):
        result = ir.VoidType() if restype == types.none else self.context.get_value_type(restype)
        return ir.FunctionType(result, [self.context.get_value_type(t) for t in argtypes])

    def decorate_function(self, fn, args, fe_argtypes, noalias=False):
        for argument, name in zip(fn.args, args, strict=True):
            argument.name = name

    def get_arguments(self, func):
        return func.args

    def decode_arguments(self, builder, argtypes, func):
        return list(func.args)

    def return_value(self, builder, retval):
        if isinstance(builder.function.function_type.return_type, ir.VoidType):
            return builder.ret_void()
        return builder.ret(retval)

    def return_native_none(self, builder):
        return builder.ret_void()

    def return_user_exc(self, builder, exc, exc_args=None, loc=None, func_name=None):
        builder.unreachable()  # of numba's own: only "range() step is zero", which no printed loop has

    def _return_errcode_raw(self, builder, code):
        raise errors.LoweringError("a kernel cannot raise")


class _Codegen:
    """What numba's lowering asks of a code generator: empty modules and sizes."""

    def __init__(self):
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine()
        self.target_data = machine.target_data
        self.layout = str(machine.target_data)

    def _create_empty_module(self, name):
        module = ir.Module(name)
        module.triple = TRIPLE
        module.data_layout = self.layout
        return module

    create_empty_module = _create_empty_module


class _Library:
    """Receives the module that `Lower` builds."""

    def __init__(self, codegen):
        self.codegen, self.module, self.name = codegen, None, "funcgrad"

    def create_ir_module(self, name):
        return self.codegen._create_empty_module(name)

    def add_linking_library(self, library):
        pass

    def add_ir_module(self, module):
        self.module = module


class _Context(CPUContext):
    """Lowering: the words of intrinsics.py, and numba's own numbers and ranges."""

    def init(self):
        self.is32bit = False
        self._internal_codegen = _Codegen()
        self.overloads = {}
        self.sizes = {}

    def load_additional_registries(self):
        pass

    def post_lowering(self, mod, library):
        pass

    @cached_property
    def call_conv(self):
        return _CABI(self)

    def get_abi_sizeof(self, ty):
        # numba asks for the debug information of each variable, also where none is made, and llvmlite parses a module to answer
        key = str(ty)
        if key not in self.sizes:
            self.sizes[key] = super().get_abi_sizeof(ty)
        return self.sizes[key]

    def pair_first(self, builder, val, ty):
        return builder.extract_value(val, 0)

    def pair_second(self, builder, val, ty):
        return builder.extract_value(val, 1)

    def get_constant_generic(self, builder, ty, val):
        return self.get_dummy_value() if isinstance(ty, Word) else super().get_constant_generic(builder, ty, val)

    def get_function(self, fn, sig, _firstcall=True):
        if isinstance(fn, Word):
            build = fn.build(self, sig)
            return lambda builder, args, loc=None: build(self, builder, sig, args)
        if fn == "getiter" and sig.args == (types.range_state64_type,):
            return _start_range
        if fn == "iternext" and sig.args == (types.range_iter64_type,):
            return _next_of_range
        return super().get_function(fn, sig, _firstcall)


def _start_range(builder, args, loc=None):
    """An iterator (place of the index, stop, step, place again). numba's own counts the turns first, by division; this is
    the loop that a C programmer writes, and LLVM's loop passes like it as well and need less time for it."""
    start, stop, step = (builder.extract_value(args[0], k) for k in range(3))
    place = cgutils.alloca_once(builder, I64)
    builder.store(start, place)
    iterator = ir.Constant(ir.LiteralStructType([I64.as_pointer(), I64, I64, I64.as_pointer()]), ir.Undefined)
    for k, value in enumerate((place, stop, step, place)):
        iterator = builder.insert_value(iterator, value, k)
    return iterator


def _next_of_range(builder, args, loc=None):
    """The pair (index, whether it is inside)."""
    place, stop, step = (builder.extract_value(args[0], k) for k in range(3))
    index = builder.load(place, typ=I64)
    builder.store(builder.add(index, step, flags=("nsw",)), place)
    up = builder.icmp_signed(">", step, I64(0))
    inside = builder.select(up, builder.icmp_signed("<", index, stop), builder.icmp_signed(">", index, stop))
    pair = ir.Constant(ir.LiteralStructType([I64, ir.IntType(1)]), ir.Undefined)
    return builder.insert_value(builder.insert_value(pair, index, 0), inside, 1)


class _Interpreter(Interpreter):
    """Bytecode to numba's IR; a kernel has none of the constructs (with, try, **kwargs) that are rewritten afterwards."""

    def post_process(self, peepholes, func_ir):
        return func_ir


class _Typing(BaseContext):
    """Typing: as above. Pointers and words are looked up here and nowhere else."""

    def _load_builtins(self):
        # numba's numbers, comparisons and ranges only: its registry also holds every @overload of the package
        # (strings, arrays ...), and each of those would load the whole of numba's lowering, 0.2 s
        own = typing.templates.Registry()
        whole = typing.templates.builtin_registry
        own.functions.extend(t for t in whole.functions if not issubclass(t, _OVERLOADS))
        own.attributes.extend(t for t in whole.attributes if not issubclass(t, _OVERLOADS))
        for value, kind in whole.globals:
            if not any(issubclass(t, _OVERLOADS) for t in getattr(kind, "templates", ())):
                own.globals.append((value, kind))
        self.install_registry(own)

    def resolve_value_type(self, val):
        if isinstance(val, Word):
            return val
        if callable(val) and val.__class__ is not type or val is range or val is bool:
            if val not in self.functions:
                self.functions[val] = super().resolve_value_type(val)
            return self.functions[val]
        return super().resolve_value_type(val)

    def resolve_static_getitem(self, value, index):
        return None if isinstance(value, Pointer) else super().resolve_static_getitem(value, index)

    def resolve_static_setitem(self, target, index, value):
        return None if isinstance(target, Pointer) else super().resolve_static_setitem(target, index, value)

    def resolve_setitem(self, target, index, value):
        return pointers.type_setitem(target, index, value) if isinstance(target, Pointer) else None

    def init(self):
        self.resolved, self.functions = {}, {}

    def resolve_function_type(self, func, args, kws):
        if isinstance(func, Word):
            return func.get_call_type(self, args, kws)
        if func is operator.getitem and isinstance(args[0], Pointer):
            return pointers.type_getitem(*args)
        if func is operator.setitem and isinstance(args[0], Pointer):
            return pointers.type_setitem(*args)
        if kws:
            return super().resolve_function_type(func, args, kws)
        key = func, tuple(args)
        if key not in self.resolved:  # numba tries all overloads of an operator, each time
            self.resolved[key] = super().resolve_function_type(func, args, kws)
        return self.resolved[key]


class _Lower(lowering.Lower):
    def emit_environment_object(self):
        pass

    def lower_binop(self, resty, expr, op):
        # numba's own first looks for overloads on constants, typing each operator three times more
        signature = self.fndesc.calltypes[expr]
        left, right = (self._cast_var(v, t) for v, t in zip((expr.lhs, expr.rhs), signature.args, strict=True))
        function = self.context.typing_context.resolve_value_type(op)
        value = self.context.get_function(function, signature)(self.builder, (left, right))
        return self.context.cast(self.builder, value, signature.return_type, resty)

    def lower_getitem(self, resty, expr, value, index, signature):
        if not isinstance(self.typeof(value.name), Pointer):
            return super().lower_getitem(resty, expr, value, index, signature)
        values = [self._cast_var(var, ty) for var, ty in zip((value, index), signature.args, strict=True)]
        return pointers.build_getitem(self.context, self.builder, signature, values)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        variables = (target_var, index_var, value_var)
        values = [self._cast_var(var, ty) for var, ty in zip(variables, signature.args, strict=True)]
        return pointers.build_setitem(self.context, self.builder, signature, values)


class _Once:
    """Contexts, made at the first compile of the process.

    numba fills them little by little, and what was begun is not begun again: a compile that is broken off (Ctrl-C, no memory,
    recursion too deep) may leave them half filled, so after any failure the next compile makes new ones, in 0.1 s."""

    made = None

    @classmethod
    def get(cls):
        if cls.made is None:
            own = _Typing()
            lowering = _Context(own)
            lowering.refresh()
            cls.made = own, lowering
        return cls.made


FLAGS = {
    "nrt": False,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "enable_pyobject": False,
    "enable_looplift": False,
}


def _flags():
    flags = compiler.Flags()
    for name, value in FLAGS.items():
        setattr(flags, name, value)
    return flags


@global_compiler_lock
def lower_function(function, argument_types, symbol, return_type=None):
    """`function` as the text of an LLVM module with one function called `symbol`; and its return type."""
    try:
        return _lower(function, argument_types, symbol, return_type, *_Once.get())
    except BaseException:
        _Once.made = None
        raise


def _lower(function, argument_types, symbol, return_type, typing_context, lowering_context):
    flags = _flags()
    identity = FunctionIdentity.from_function(function)
    func_ir = _Interpreter(identity).interpret(ByteCode(identity))
    func_ir.blocks = canonicalize_cfg(func_ir.blocks)
    func_ir.generator_info = None
    func_ir = reconstruct_ssa(func_ir)
    func_ir._definitions = build_definitions(func_ir.blocks)
    with ConfigStack().enter(flags):
        context = compiler._make_subtarget(lowering_context, flags)
        results = type_inference_stage(typing_context, context, func_ir, argument_types, return_type)
        typemap, restype, calltypes, _ = results
        func_ir = PreLowerStripPhis()._strip_phi_nodes(func_ir)
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            func_ir, typemap, restype, calltypes, mangler=lambda *a, **k: symbol, inline=False, noalias=False, abi_tags=()
        )
        library = _Library(context.codegen())
        with context.push_code_library(library):
            _Lower(context, library, descriptor, func_ir).lower()
    return str(library.module), restype
