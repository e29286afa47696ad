"""Functions that only compiled functions call: optimised and compiled inside their callers only.

numba prepares every function for calls from Python and C: it compiles two wrappers, optimises the function with
all its callees, and generates machine code. A caller then inlines the function, so that it is optimised and
generated again at each level of calls. Here only the outermost function, the one called from Python, is
optimised and generated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


def internal(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit` for functions that only compiled ones call; Python cannot."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**INTERNAL, **options)(function)

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise TypeError(f"{function.__qualname__} can only be called by compiled functions")

        # A call from Python would find no wrapper: this method compiles new signatures ...
        dispatcher._compile_for_args = refuse
        dispatcher._insert = lambda *_: None  # ... and the dispatcher never sees compiled ones
        return dispatcher

    return compiled


class _Code(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function for inlining into its callers."""

    is_optimised = False

    def _optimize_final_module(self) -> None:
        if self.is_optimised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Lowers a typed function and registers it for its callers."""

    _name = "internal_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Code(state.targetctx.codegen(), state.func_id.func_qualname)
        # Sums with fastmath are vectorised here, so that their order does not depend on the caller.
        state.library.is_optimised = bool(state.flags.fastmath)
        state.flags.no_compile = True
        super().run_pass(state)
        key = list[None]().append  # numba expects a C function, identified by the object that it is bound to
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _Compiler(CompilerBase):  # type: ignore[misc]
    """numba's own compiler with other last steps."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_Lowering, about) if step is NativeLowering else (step, about) for step, about in passes.passes
        ]
        passes.finalize()
        return [passes]


UNCOUNTED = {"_nrt": False}
"""Without numba's runtime, which counts references to arrays atomically, around every small call in a step.

The caller in Python holds the arrays, and compiled code makes none.
"""

INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _Compiler, **UNCOUNTED}
"""Options of such functions, for `numba.extending.overload`."""
