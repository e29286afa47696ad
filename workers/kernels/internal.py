"""Functions that only compiled functions call: optimised and made machine code inside their callers alone.

numba makes every function ready to be called from Python and C: it compiles two wrappers for it, optimises
it together with all that it calls, and generates its machine code. A caller then takes the function into its
own code, where it is optimised and generated again, at each level of calls. Here all of that is left to the
outermost function, which is the only one that Python calls.
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

        # A call from Python would find no wrapper to jump to: it looks here for what is not compiled yet ...
        dispatcher._compile_for_args = refuse
        dispatcher._insert = lambda *_: None  # ... and does not get to know what is
        return dispatcher

    return compiled


class _Code(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function for its callers to take in."""

    is_optimised = False

    def _optimize_final_module(self) -> None:
        if self.is_optimised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Makes code of a typed function, and tells those who call it where that is."""

    _name = "internal_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Code(state.targetctx.codegen(), state.func_id.func_qualname)
        # Sums that may be taken in any order are vectorised here, whatever stands around the calls.
        state.library.is_optimised = bool(state.flags.fastmath)
        state.flags.no_compile = True
        super().run_pass(state)
        key = list[None]().append  # numba wants a function of C, and knows it by the object that it is bound to
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _Compiler(CompilerBase):  # type: ignore[misc]
    """numba's own, but for the last steps."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_Lowering, about) if step is NativeLowering else (step, about) for step, about in passes.passes
        ]
        passes.finalize()
        return [passes]


INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _Compiler}
"""Options of such functions, for `numba.extending.overload`."""
