"""numba's typing and lowering, cut down: a function (kernel_tree.py) and its argument types -> LLVM text.

Enters: a function written in the words of `intrinsics.NAMESPACE`. Leaves: the text of one LLVM module that defines
it with the C calling convention (no exceptions, no reference counts, no wrappers), and its return type.
Nothing here touches numba's own contexts or registries: a user's numba code is neither affected nor affects us.
"""

import operator
from functools import cached_property

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import callconv, cgutils, compiler, errors, funcdesc, lowering, types, typing
from numba.core import ir as numba_ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import type_inference_stage
from numba.core.typing.context import BaseContext
from numba.cpython import builtins, numbers  # noqa: F401  (they register what lowering looks up)

from funcgrad.runtime import kernel_tree, pointers
from funcgrad.runtime.keys import TRIPLE
from funcgrad.runtime.pointers import Pointer, Word

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
        raise errors.LoweringError("a kernel cannot raise")

    def _return_errcode_raw(self, builder, code):
        raise errors.LoweringError("a kernel cannot raise")


class _Codegen:
    """What numba's lowering asks of a code generator: empty modules and sizes."""

    def __init__(self):
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine()
        self.target_data = machine.target_data
        self.layout = str(machine.target_data)

    def _create_empty_module(self, name):
        module = pointers.Module(name)
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
    """Lowering: the words of intrinsics.py, and numba's own numbers."""

    def init(self):
        self.is32bit = False
        self._internal_codegen = _Codegen()
        self.overloads = {}

    def load_additional_registries(self):
        pass

    def post_lowering(self, mod, library):
        pass

    @cached_property
    def call_conv(self):
        return _CABI(self)

    def get_constant_generic(self, builder, ty, val):
        return self.get_dummy_value() if isinstance(ty, Word) else super().get_constant_generic(builder, ty, val)

    def get_function(self, fn, sig, _firstcall=True):
        if isinstance(fn, Word):
            build = fn.build(self, sig)
            return lambda builder, args, loc=None: build(self, builder, sig, args)
        return super().get_function(fn, sig, _firstcall)


class _Typing(BaseContext):
    """Typing: as above. Pointers and words are looked up here and nowhere else."""

    def _load_builtins(self):
        # numba's numbers and comparisons only: its registry also holds every @overload of the package
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
        if callable(val) and val.__class__ is not type or val is bool:
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

    def _find_singly_assigned_variable(self):
        self.shared, self.values = self.func_ir.shared, {}

    def pre_block(self, block):
        pass

    def post_block(self, block):
        pass

    def lower_block(self, block):
        # numba's own writes each statement down, for an error and for a debugger
        for statement in block.body:
            self.loc = statement.loc
            if isinstance(statement, numba_ir.Assign):
                name = statement.target.name
                if name in self.shared:
                    self._check_type(name, statement.value)
                self.storevar(self.lower_assign(self.typeof(name), statement), name)
            else:
                self.lower_inst(statement)

    def _check_type(self, name, value):
        """A place in memory has one type. Of two, numba makes a third that holds both, float64 of int32 and float32."""
        if isinstance(value, numba_ir.Expr):
            given = self.fndesc.calltypes[value].return_type
        elif isinstance(value, numba_ir.Var | numba_ir.Arg):
            given = self.typeof(value.name if isinstance(value, numba_ir.Var) else "arg." + value.name)
        else:
            return
        if types.unliteral(given) != self.typeof(name):
            raise errors.LoweringError(f"{name} is assigned values of different types, {given} is one of them")

    def storevar(self, value, name, argidx=None):
        if name in self.shared:
            if name not in self.varmap:
                self.varmap[name] = cgutils.alloca_once(self.builder, value.type, name=name)
            self.builder.store(value, self.varmap[name])
        else:
            self.values[name] = value

    def loadvar(self, name):
        return self.builder.load(self.varmap[name]) if name in self.shared else self.values[name]

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
def lower_function(kernel, argument_types, symbol, return_type=None):
    """`function` as the text of an LLVM module with one function called `symbol`; and its return type."""
    try:
        return _lower(kernel, argument_types, symbol, return_type, *_Once.get())
    except BaseException:
        _Once.made = None
        raise


def _lower(kernel, argument_types, symbol, return_type, typing_context, lowering_context):
    flags = _flags()
    func_ir = kernel_tree.read(kernel)
    with ConfigStack().enter(flags):
        context = compiler._make_subtarget(lowering_context, flags)
        results = type_inference_stage(typing_context, context, func_ir, argument_types, return_type)
        typemap, restype, calltypes, _ = results
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            func_ir, typemap, restype, calltypes, mangler=lambda *a, **k: symbol, inline=False, noalias=False, abi_tags=()
        )
        library = _Library(context.codegen())
        with context.push_code_library(library):
            _Lower(context, library, descriptor, func_ir).lower()
    return str(library.module), restype
