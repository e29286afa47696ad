"""The programs of a model's steps: its own, the one with adapters, and both with taps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.runtime.adapter_set import AdapterSet
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.runtime.layout import WeightLayout
from cactus_actors.workers.runtime.op_codes import RowKind
from cactus_actors.workers.runtime.program import Program
from cactus_actors.workers.runtime.step_arguments import Workspace
from cactus_actors.workers.runtime.taps import taps_of, with_taps
from cactus_actors.workers.runtime.workspace import new_workspace


class StepProgram(NamedTuple):
    """A program with the memory that it runs in, and the numbers of layers after which it has taps."""

    program: Program
    workspace: Workspace
    tapped_layers: tuple[int, ...] = ()

    def rows_of(self, buffer: int, num_rows: int, num_columns: int) -> NDArray[np.float32]:
        """The first rows of a buffer, (num_rows, num_columns), a view."""
        width, start = self.program.buffers[buffer].width, int(self.workspace.starts[buffer])
        rows = self.workspace.floats[start : start + width * num_rows].reshape(num_rows, width)
        return rows[:, :num_columns]


class StepPrograms:
    """Chooses the program of a step.

    Steps without sequences of adapters, or without taps, run programs without these. The taps of all steps so far are
    in one program, which is made when a step needs it.
    """

    def __init__(self, graph: Graph, layout: WeightLayout, *, threads: int, scratch_size: int) -> None:
        self.adapters = AdapterSet(graph, layout)
        self.own_program = Program.of(graph, layout)
        self._graph, self._layout = graph, layout
        self._threads, self._scratch_size = threads, scratch_size
        self._possible_taps = taps_of(graph).keys()
        self._tapped_layers: tuple[int, ...] = ()
        self._max_rows: Mapping[RowKind, int] = {}
        self._ready: dict[tuple[bool, bool], StepProgram] = {}  # by whether they have adapters, and taps

    @property
    def own(self) -> StepProgram:
        """The program without adapters and taps."""
        return self._ready[False, False]

    def allocate(self, max_rows: Mapping[RowKind, int]) -> None:
        """Memory for steps of this size, and for the adapters of now; all of it, or MemoryError and no change."""
        ready = {(False, False): self._in_memory(self.own_program, max_rows)}
        if self.adapters.program is not None:
            ready[True, False] = self._in_memory(self.adapters.program, max_rows)
        self._ready, self._max_rows = ready, max_rows

    def of(self, batch: Batch) -> StepProgram:
        """The program that a batch needs."""
        is_adapted, layers = batch.adapters is not None and self.adapters.program is not None, batch.tapped_layers
        if batch.adapters is not None:
            assert all(slot in self.adapters for slot in set(batch.adapters.tolist()) - {-1}), "no such adapter"
        if not self._possible_taps.isdisjoint(layers):
            self._tap(layers)
            if (is_adapted, True) not in self._ready:
                self._ready[is_adapted, True] = self._tapped(is_adapted=is_adapted)
            return self._ready[is_adapted, True]
        return self._ready[is_adapted, False]

    def _tap(self, layers: frozenset[int]) -> None:
        """Add taps to those of earlier steps."""
        wanted = tuple(sorted({*self._tapped_layers, *(layers & self._possible_taps)}))
        if wanted != self._tapped_layers:
            self._tapped_layers = wanted
            for is_adapted in (False, True):
                self._ready.pop((is_adapted, True), None)

    def _tapped(self, *, is_adapted: bool) -> StepProgram:
        graph = self.adapters.graph if is_adapted else self._graph
        assert graph is not None, "there are adapters"
        program = Program.of(with_taps(graph, self._tapped_layers), self._layout)
        return self._in_memory(program, self._max_rows)._replace(tapped_layers=self._tapped_layers)

    def _in_memory(self, program: Program, max_rows: Mapping[RowKind, int]) -> StepProgram:
        workspace = new_workspace(
            program.buffers,
            max_rows,
            threads=self._threads,
            scratch_size=self._scratch_size,
            num_operations=len(program.operations),
        )
        return StepProgram(program, workspace)
