"""The adapters of a model: their packed matrices in one array, and the program that uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import aligned_zeros
from cactus_actors.workers.kernels.thin_products import OUTPUTS
from cactus_actors.workers.runtime.adapter_packing import pack_adapter
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights, adapter_sites, with_adapters
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.runtime.layout import WeightLayout
from cactus_actors.workers.runtime.program import Program
from cactus_actors.workers.runtime.step_arguments import DOWN_BLOCKS, DOWN_START, UP_START, AdapterArrays

MIN_ELEMENTS = 16


class AdapterSet:
    """Adapters by slot. Their weights are float32 for a float32 model, else bfloat16.

    Graph and program are those of the model with the operations of all modules that an adapter changes. They are None
    without adapters, and steps without sequences of adapters do not use them.
    """

    def __init__(self, graph: Graph, layout: WeightLayout) -> None:
        self._graph, self._layout = graph, layout
        self._is_bfloat = layout.body.name != "float32"
        self._sites = adapter_sites(graph)
        self._sizes: dict[int, int] = {}  # elements of each adapter, by slot
        self._num_used = 0  # elements, those of removed adapters among them
        num_ranges = max(sum(map(len, site.modules.values())) for site in self._sites)
        self.graph: Graph | None = None
        self.program: Program | None = None
        self.arrays = AdapterArrays(
            self._new_data(MIN_ELEMENTS),
            np.zeros((0, len(self._sites), 2), np.int64),
            np.zeros((0, len(self._sites), num_ranges, 5), np.int64),
        )

    def __contains__(self, slot: int) -> bool:
        return slot in self._sizes

    def add(self, weights: AdapterWeights) -> int:
        """Pack an adapter for modules of the graph's sites, in their shapes; returns its slot."""
        packed = pack_adapter(self._sites, weights, self.arrays.ups.shape[2], is_bfloat=self._is_bfloat)
        slot = next(number for number in range(len(self._sizes) + 1) if number not in self._sizes)
        if slot == len(self.arrays.downs):
            _, downs, ups = self.arrays
            self.arrays = self.arrays._replace(downs=_doubled(downs), ups=_doubled(ups))
        size = len(packed.data)
        self._make_room(size)
        start = self._num_used
        self.arrays.data[start : start + size] = packed.data
        self._num_used += size
        self._sizes[slot] = size
        self._place(slot, packed.downs, packed.ups, start)
        self._update_program()
        return slot

    def remove(self, slot: int) -> None:
        """Forget an adapter, which no later step uses."""
        del self._sizes[slot]
        self.arrays.downs[slot], self.arrays.ups[slot] = 0, 0
        if not self._sizes:
            self.arrays = self.arrays._replace(data=self._new_data(MIN_ELEMENTS))
            self._num_used = 0
        self._update_program()

    def _place(self, slot: int, downs: NDArray[np.int64], ups: NDArray[np.int64], moved_by: int) -> None:
        """Set the entries of an adapter whose elements are so much further back than these say."""
        self.arrays.downs[slot], self.arrays.ups[slot] = downs, ups
        self.arrays.downs[slot, :, DOWN_START] += moved_by
        self.arrays.ups[slot, :, :, UP_START] += moved_by

    def _make_room(self, size: int) -> None:
        """Let `size` elements fit after the used ones; a new array has no gaps of removed adapters."""
        former = self.arrays
        if self._num_used + size <= len(former.data):
            return
        self.arrays = former._replace(data=self._new_data(2 * (sum(self._sizes.values()) + size)))
        self._num_used = 0
        for slot, num_elements in self._sizes.items():
            start = int(former.downs[slot][former.downs[slot, :, DOWN_BLOCKS] > 0, DOWN_START].min())
            end = self._num_used + num_elements
            self.arrays.data[self._num_used : end] = former.data[start : start + num_elements]
            self._place(slot, former.downs[slot], former.ups[slot], self._num_used - start)
            self._num_used = end

    def _new_data(self, num_elements: int) -> NDArray[Any]:
        return aligned_zeros((num_elements,), np.uint32 if self._is_bfloat else np.float32)

    def _update_program(self) -> None:
        """Let the program have operations for the sites of all adapters, and room for their ranks."""
        self.graph = self.program = None
        if self._sizes:
            widths = OUTPUTS * self.arrays.downs[:, :, DOWN_BLOCKS].max(axis=0)
            self.graph = with_adapters(self._graph, self._sites, widths.tolist())
            self.program = Program.of(self.graph, self._layout)


def _doubled(entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """The entries, and room for as many more; for two at least."""
    more = np.zeros((max(2, len(entries)), *entries.shape[1:]), np.int64)
    return np.concatenate([entries, more])
