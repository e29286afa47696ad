"""An adapter's matrices, packed in one array in the order of use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.kernels.aligned_memory import round_up
from cactus_actors.workers.kernels.thin_products import OUTPUTS, pack_thin
from cactus_actors.workers.runtime.adapter_sites import AdapterSite, AdapterWeights


class PackedAdapter(NamedTuple):
    """One adapter: its elements, and its entries of `AdapterArrays`, whose starts count from its first element."""

    data: NDArray[Any]
    downs: NDArray[np.int64]  # (sites, 2)
    ups: NDArray[np.int64]  # (sites, ranges, 5)


def pack_adapter(
    sites: Sequence[AdapterSite], weights: AdapterWeights, num_ranges: int, *, is_bfloat: bool
) -> PackedAdapter:
    """Pack the matrices of all modules; each is a module of a site, and has its shape."""
    downs, ups = np.zeros((len(sites), 2), np.int64), np.zeros((len(sites), num_ranges, 5), np.int64)
    pieces: list[NDArray[Any]] = []
    num_elements = 0
    for index, site in enumerate(sites):
        names = [name for name in site.modules if name in weights]
        if not names:
            continue
        # Ranks are padded to pairs: an `up` matrix reads whole pairs of the thin product.
        ranks = [round_up(len(weights[name].down), 2) for name in names]
        thin = np.zeros((sum(ranks), site.num_columns), np.float32)
        firsts = np.cumsum([0, *ranks])
        for name, first in zip(names, firsts, strict=False):
            thin[first : first + len(weights[name].down)] = weights[name].down
        downs[index] = num_elements, _num_blocks(thin)
        pieces.append(pack_thin(thin, is_bfloat=is_bfloat))
        num_elements += len(pieces[-1])
        ranges = [
            (name, each, first, rank)
            for name, first, rank in zip(names, firsts, ranks, strict=False)
            for each in site.modules[name]
        ]
        for place, (name, (first_column, outputs), first, rank) in enumerate(ranges):
            up = weights[name].up
            # A block of the matrix is a block of the product: other columns of the first one get zeros.
            offset = first_column % OUTPUTS
            shifted = np.zeros((offset + len(outputs), up.shape[1]), np.float32)
            shifted[offset:] = up[outputs]
            ups[index, place] = num_elements, _num_blocks(shifted), first_column // OUTPUTS, first, rank // 2
            pieces.append(pack_thin(shifted, is_bfloat=is_bfloat))
            num_elements += len(pieces[-1])
    return PackedAdapter(np.concatenate(pieces), downs, ups)


def _num_blocks(matrix: NDArray[np.float32]) -> int:
    return -(-len(matrix) // OUTPUTS)
