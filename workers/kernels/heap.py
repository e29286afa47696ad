"""A heap for the first few of many ids, in descending order, without sorting the rest."""

from __future__ import annotations

import numpy as np

from cactus_actors.workers.kernels.internal import internal
from cactus_actors.workers.kernels.softmax import Ids, Logits, Scalar


@internal()
def _precedes(keys: Logits, a: Scalar, b: Scalar) -> Scalar:
    return keys[a] > keys[b] or (keys[a] == keys[b] and a < b)


@internal()
def _sift_down(keys: Logits, heap: Ids, size: Scalar, parent: Scalar) -> None:
    item = heap[parent]
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and _precedes(keys, heap[child + 1], heap[child]):
            child += 1
        if not _precedes(keys, heap[child], item):
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = item


@internal()
def heapify(keys: Logits, heap: Ids, size: Scalar) -> None:
    """Order the first `size` indices of `heap` so that `pop` takes them by descending key, then ascending index."""
    for parent in range(size // 2 - 1, -1, -1):
        _sift_down(keys, heap, size, parent)


@internal()
def pop(keys: Logits, heap: Ids, size: Scalar) -> Scalar:
    """Take the first index off a heap of `size`."""
    first = heap[0]
    heap[0] = heap[size - 1]
    _sift_down(keys, heap, size - 1, 0)
    return first


@internal()
def kth_largest(values: Logits, k: Scalar, largest: Logits) -> Scalar:
    """The k-th largest of `values`, -inf where there are fewer; `largest` is room for min(k, values.size)."""
    if k > values.size:
        return np.float32(-np.inf)
    for i in range(k):  # a heap with the smallest of the k largest on top
        child = i
        while child > 0 and largest[(child - 1) // 2] > values[i]:
            largest[child] = largest[(child - 1) // 2]
            child = (child - 1) // 2
        largest[child] = values[i]
    for i in range(k, values.size):
        if values[i] > largest[0]:
            parent = 0
            while True:
                child = 2 * parent + 1
                if child >= k:
                    break
                if child + 1 < k and largest[child + 1] < largest[child]:
                    child += 1
                if largest[child] >= values[i]:
                    break
                largest[parent] = largest[child]
                parent = child
            largest[parent] = values[i]
    return largest[0]
