"""The block formats of GGUF tensors, one value at a time, and random blocks of each."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import gguf
import numpy as np
from gguf import GGMLQuantizationType as TensorType
from numpy.typing import NDArray

IQ4_VALUES = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


def half(block: bytes, at: int) -> float:
    return float(struct.unpack_from("<e", block, at)[0])


def nibble(packed: bytes, index: int) -> int:
    """Value `index` of 32 four-bit values: the low halves of 16 bytes, then their high halves."""
    return packed[index % 16] >> 4 * (index // 16) & 15


def six_bit_pair(scales: bytes, index: int) -> tuple[int, int]:
    """Scale and minimum `index` of 8 of each, six bits wide, in 12 bytes."""
    if index < 4:
        return scales[index] & 63, scales[index + 4] & 63
    low = scales[index + 4]
    return low & 15 | scales[index - 4] >> 6 << 4, low >> 4 | scales[index] >> 6 << 4


def q4_0(block: bytes) -> Iterator[float]:
    for n in range(32):
        yield half(block, 0) * (nibble(block[2:], n) - 8)


def q4_1(block: bytes) -> Iterator[float]:
    for n in range(32):
        yield half(block, 0) * nibble(block[4:], n) + half(block, 2)


def q5_0(block: bytes) -> Iterator[float]:
    high = int.from_bytes(block[2:6], "little")
    for n in range(32):
        yield half(block, 0) * ((nibble(block[6:], n) | (high >> n & 1) << 4) - 16)


def q5_1(block: bytes) -> Iterator[float]:
    high = int.from_bytes(block[4:8], "little")
    for n in range(32):
        yield half(block, 0) * (nibble(block[8:], n) | (high >> n & 1) << 4) + half(block, 2)


def q8_0(block: bytes) -> Iterator[float]:
    for value in struct.unpack_from("<32b", block, 2):
        yield half(block, 0) * value


def q2_k(block: bytes) -> Iterator[float]:
    scales, packed = block[:16], block[16:80]
    for n in range(256):
        value = packed[n // 128 * 32 + n % 32] >> n % 128 // 32 * 2 & 3
        yield half(block, 80) * (scales[n // 16] & 15) * value - half(block, 82) * (scales[n // 16] >> 4)


def q3_k(block: bytes) -> Iterator[float]:
    high, packed, scales = block[:32], block[32:96], block[96:108]
    for n in range(256):
        low = packed[n // 128 * 32 + n % 32] >> n % 128 // 32 * 2 & 3
        value = low if high[n % 32] >> n // 32 & 1 else low - 4
        group = n // 16
        scale = scales[group % 8] >> 4 * (group // 8) & 15 | (scales[8 + group % 4] >> group // 4 * 2 & 3) << 4
        yield half(block, 108) * (scale - 32) * value


def q4_k(block: bytes) -> Iterator[float]:
    scales, packed = block[4:16], block[16:]
    for n in range(256):
        value = packed[n // 64 * 32 + n % 32] >> n % 64 // 32 * 4 & 15
        scale, minimum = six_bit_pair(scales, n // 32)
        yield half(block, 0) * scale * value - half(block, 2) * minimum


def q5_k(block: bytes) -> Iterator[float]:
    scales, high, packed = block[4:16], block[16:48], block[48:]
    for n in range(256):
        low = packed[n // 64 * 32 + n % 32] >> n % 64 // 32 * 4 & 15
        value = low | (high[n % 32] >> n // 32 & 1) << 4
        scale, minimum = six_bit_pair(scales, n // 32)
        yield half(block, 0) * scale * value - half(block, 2) * minimum


def q6_k(block: bytes) -> Iterator[float]:
    low, high, scales = block[:128], block[128:192], struct.unpack_from("<16b", block, 192)
    for n in range(256):
        quarter = n % 128 // 32
        four = low[n // 128 * 64 + quarter % 2 * 32 + n % 32] >> quarter // 2 * 4 & 15
        two = high[n // 128 * 32 + n % 32] >> quarter * 2 & 3
        yield half(block, 208) * scales[n // 16] * ((four | two << 4) - 32)


def iq4_nl(block: bytes) -> Iterator[float]:
    for n in range(32):
        yield half(block, 0) * IQ4_VALUES[nibble(block[2:], n)]


def iq4_xs(block: bytes) -> Iterator[float]:
    high = int.from_bytes(block[2:4], "little")
    for n in range(256):
        group = n // 32
        scale = block[4 + group // 2] >> group % 2 * 4 & 15 | (high >> group * 2 & 3) << 4
        yield half(block, 0) * (scale - 32) * IQ4_VALUES[nibble(block[8 + group * 16 :], n % 32)]


def grid_of(kind: TensorType) -> NDArray[np.float32]:
    """The table of a type, (entries, values of an entry), as the `gguf` package has it."""
    table = getattr(gguf.quants, kind.name)
    table.init_grid()
    grid: NDArray[np.float32] = table.grid
    return grid.reshape(table.grid_shape)


def entry(kind: TensorType, index: int) -> list[float]:
    return [float(value) for value in grid_of(kind)[index]]


def sign(bits: int, n: int) -> int:
    """Of value `n` of eight."""
    return -1 if bits >> n & 1 else 1


def with_parity(bits: int) -> int:
    """Seven bits of signs and an eighth one that makes the number of negative values even."""
    return bits | (bits.bit_count() & 1) << 7


def word(block: bytes, at: int, size: int) -> int:
    return int.from_bytes(block[at : at + size], "little")


def iq2_xxs(block: bytes) -> Iterator[float]:
    for group in range(8):  # of 32 values
        packed = word(block, 2 + 8 * group + 4, 4)
        scale = half(block, 0) * (0.5 + (packed >> 28)) / 4
        for part in range(4):
            values = entry(TensorType.IQ2_XXS, block[2 + 8 * group + part])
            signs = with_parity(packed >> 7 * part & 127)
            yield from (scale * value * sign(signs, n) for n, value in enumerate(values))


def iq2_xs(block: bytes) -> Iterator[float]:
    for part in range(32):  # of 8 values
        packed = word(block, 2 + 2 * part, 2)
        scale = half(block, 0) * (0.5 + (block[66 + part // 4] >> part // 2 % 2 * 4 & 15)) / 4
        values = entry(TensorType.IQ2_XS, packed & 511)
        yield from (scale * value * sign(with_parity(packed >> 9), n) for n, value in enumerate(values))


def iq2_s(block: bytes) -> Iterator[float]:
    for part in range(32):  # of 8 values
        index = block[2 + part] | (block[66 + part // 4] >> part % 4 * 2 & 3) << 8
        scale = half(block, 0) * (0.5 + (block[74 + part // 4] >> part // 2 % 2 * 4 & 15)) / 4
        values = entry(TensorType.IQ2_S, index)
        yield from (scale * value * sign(block[34 + part], n) for n, value in enumerate(values))


def iq3_xxs(block: bytes) -> Iterator[float]:
    for part in range(64):  # of 4 values
        packed = word(block, 66 + part // 8 * 4, 4)
        scale = half(block, 0) * (0.5 + (packed >> 28)) / 2
        signs = with_parity(packed >> part % 8 // 2 * 7 & 127) >> part % 2 * 4
        values = entry(TensorType.IQ3_XXS, block[2 + part])
        yield from (scale * value * sign(signs, n) for n, value in enumerate(values))


def iq3_s(block: bytes) -> Iterator[float]:
    for part in range(64):  # of 4 values
        index = block[2 + part] | (block[66 + part // 8] >> part % 8 & 1) << 8
        scale = half(block, 0) * (1 + 2 * (block[106 + part // 16] >> part // 8 % 2 * 4 & 15))
        values = entry(TensorType.IQ3_S, index)
        signs = block[74 + part // 2] >> part % 2 * 4
        yield from (scale * value * sign(signs, n) for n, value in enumerate(values))


def iq1_s(block: bytes) -> Iterator[float]:
    for part in range(32):  # of 8 values
        packed = word(block, 34 + part // 4 * 2, 2)
        scale = half(block, 0) * (2 * (packed >> 12 & 7) + 1)
        index = block[2 + part] | (packed >> part % 4 * 3 & 7) << 8
        offset = 0.125 * sign(packed, 15)
        yield from (scale * (value + offset) for value in entry(TensorType.IQ1_S, index))


def iq1_m(block: bytes) -> Iterator[float]:
    words = [word(block, 48 + 2 * n, 2) for n in range(4)]
    packed_scale = sum(each >> 12 << 4 * n for n, each in enumerate(words))
    block_scale = struct.unpack("<e", struct.pack("<H", packed_scale))[0]
    for part in range(32):  # of 8 values
        scale = block_scale * (2 * (words[part // 8] >> part // 2 % 4 * 3 & 7) + 1)
        high = block[32 + part // 2] >> part % 2 * 4
        offset = 0.125 * sign(high, 3)
        index = block[part] | (high & 7) << 8
        yield from (scale * (value + offset) for value in entry(TensorType.IQ1_M, index))


def trit(packed: int, n: int) -> int:
    """Digit `n` after the point of a fraction in base three, kept as a byte and rounded up: -1, 0 or 1."""
    digit: int = (packed * 3**n & 255) * 3 >> 8
    return digit - 1


def tq1_0(block: bytes) -> Iterator[float]:
    for first, width, digits in ((0, 32, 5), (32, 16, 5), (48, 4, 4)):
        for n in range(digits):
            yield from (half(block, 52) * trit(packed, n) for packed in block[first : first + width])


def tq2_0(block: bytes) -> Iterator[float]:
    for n in range(256):
        yield half(block, 64) * ((block[n // 128 * 32 + n % 32] >> n % 128 // 32 * 2 & 3) - 1)


MXFP4_VALUES = (0, 0.5, 1, 1.5, 2, 3, 4, 6)


def mxfp4(block: bytes) -> Iterator[float]:
    for n in range(32):
        value = nibble(block[1:], n)
        yield 2.0 ** (block[0] - 127) * MXFP4_VALUES[value & 7] * sign(value, 3)


def bf16(block: bytes) -> Iterator[float]:
    yield struct.unpack("<f", b"\0\0" + block)[0]


# type -> its definition and where in a block the float16 scales stand
DEFINITIONS: dict[TensorType, tuple[Callable[[bytes], Iterator[float]], tuple[int, ...]]] = {
    TensorType.F32: (lambda block: iter(struct.unpack("<f", block)), ()),
    TensorType.F16: (lambda block: iter(struct.unpack("<e", block)), (0,)),
    TensorType.BF16: (bf16, (0,)),  # the same exponents as a float16 here: finite ones
    TensorType.Q4_0: (q4_0, (0,)),
    TensorType.Q4_1: (q4_1, (0, 2)),
    TensorType.Q5_0: (q5_0, (0,)),
    TensorType.Q5_1: (q5_1, (0, 2)),
    TensorType.Q8_0: (q8_0, (0,)),
    TensorType.Q2_K: (q2_k, (80, 82)),
    TensorType.Q3_K: (q3_k, (108,)),
    TensorType.Q4_K: (q4_k, (0, 2)),
    TensorType.Q5_K: (q5_k, (0, 2)),
    TensorType.Q6_K: (q6_k, (208,)),
    TensorType.IQ1_S: (iq1_s, (0,)),
    TensorType.IQ1_M: (iq1_m, ()),
    TensorType.IQ2_XXS: (iq2_xxs, (0,)),
    TensorType.IQ2_XS: (iq2_xs, (0,)),
    TensorType.IQ2_S: (iq2_s, (0,)),
    TensorType.IQ3_XXS: (iq3_xxs, (0,)),
    TensorType.IQ3_S: (iq3_s, (0,)),
    TensorType.IQ4_NL: (iq4_nl, (0,)),
    TensorType.IQ4_XS: (iq4_xs, (0,)),
    TensorType.TQ1_0: (tq1_0, (52,)),
    TensorType.TQ2_0: (tq2_0, (64,)),
    TensorType.MXFP4: (mxfp4, ()),
}


def random_blocks(kind: TensorType, num_blocks: int) -> NDArray[np.uint8]:
    """Blocks (number, bytes) of random bytes whose scales are finite, some of them negative or subnormal."""
    random = np.random.default_rng(int(kind))
    if kind == TensorType.F32:
        return random.standard_normal((num_blocks, 1), np.float32).view(np.uint8)
    blocks = random.integers(0, 256, (num_blocks, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for at in DEFINITIONS[kind][1]:
        scales = random.standard_normal((num_blocks, 1)) * 10.0 ** random.integers(-7, 3, (num_blocks, 1))
        blocks[:, at : at + 2] = scales.astype(np.float16).view(np.uint8)
    if kind == TensorType.IQ1_M:
        blocks[:, 55] &= 0xBF  # the highest bit of the exponent of a scale in four nibbles
    if kind == TensorType.MXFP4:
        blocks[:, 0] = random.integers(110, 135, num_blocks)  # an exponent
    return blocks
