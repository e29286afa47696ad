"""A model's forward pass, written once as data.

A family's `forward(graph, config)` is a Python function. It runs once, on symbols: each
call records an operation and the names of its tensors. `program.py` turns the list into records that the
compiled step interprets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from cactus_actors.workers.kernels.cache_formats import CachedLayer, cached_layers
from cactus_actors.workers.kernels.logit_chunks import logit_stats_width
from cactus_actors.workers.runtime.op_codes import RECURRENCES, OpCode, RowKind
from cactus_actors.workers.runtime.weight_refs import GatedQueriesRef, MatrixRef, TableRef, VectorRef
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.model_config import ModelConfig, RecurrentHeads

_MIXES_ROWS = RECURRENCES | {
    *(OpCode.EMBED, OpCode.STORE, OpCode.ATTEND, OpCode.STORE_STATE, OpCode.SHORT_CONV, OpCode.MERGE),
    *(OpCode.SCORE, OpCode.CHOOSE, OpCode.GROUP, OpCode.ENCODE_CHOSEN, OpCode.EXPERT_MATMUL, OpCode.COMBINE),
}
"""Operations that need other tokens of the step, or that other tokens need."""


@dataclass(eq=False)
class Value:
    """Rows of numbers between two operations: float32, or encoded for the matrix that multiplies them."""

    graph: Graph
    width: int
    rows: RowKind = RowKind.TOKENS
    is_encoded: bool = False
    for_head: bool = False  # encoded for the format of embedding, output and routers

    def __add__(self, other: Value) -> Value:
        return self.graph.add(self, other)


@dataclass(eq=False, kw_only=True)
class GraphOperation:
    """One operation; `target` is written, or changed in place."""

    code: OpCode
    target: Value | None = None
    source: Value | None = None
    matrices: tuple[MatrixRef, ...] = ()
    vector: VectorRef | None = None
    layer: int = 0  # of the cache
    rope: int = 0
    column: int = 0
    count: int = 0
    window: int = 0
    flag: bool = False
    scale: float = 1.0
    softcap: float = 0.0
    attention_heads: AttentionHeads | None = None  # of operations on the heads of an attention
    heads: RecurrentHeads | None = None
    state: StateParts | None = None
    bias: VectorRef | None = None  # in addition to `vector`
    source_column: int = 0
    site: int = 0  # of an adapter
    epsilon: float = 0.0  # of a norm with one of its own
    reads_shared: bool = False  # attention to keys and values that another layer has stored


@dataclass(frozen=True)
class StateParts:
    """The state of a recurrence in a slot, in floats: parts of one size, each advanced by one task."""

    start: int
    num_parts: int
    part_size: int


@dataclass
class Graph:
    """Records the operations of a forward pass over the tokens of a step."""

    config: ModelConfig
    operations: list[GraphOperation] = field(default_factory=list)
    stored_heads: list[tuple[int, int]] = field(default_factory=list)  # number and size of those of each cached layer
    num_state_layers: int = 0
    slot_size: int = field(default=0, init=False)  # floats of the state of all recurrences of a sequence
    hidden: Value | None = None  # after the last norm
    logits: Value | None = None
    logit_stats: Value | None = None  # statistics of each row of logits, for sampling
    inputs: list[Value] = field(default_factory=list, init=False)  # written before the first operation
    tables: list[TableRef] = field(default_factory=list, init=False)
    encoder: Graph | None = field(default=None, init=False)  # of pictures
    drafter: Graph | None = field(default=None, init=False)  # a head for further tokens, with the same cache
    features: list[Value] = field(default_factory=list, init=False)  # results beside `hidden`: an encoder's, or taps
    _encoded: dict[tuple[int, bool], Value] = field(default_factory=dict)

    def embed(self, name: str, *, scale: float = 1.0, vocab_size: int = 0, width: int = 0) -> Value:
        """The rows of the embedding `name` that belong to the tokens, times `scale`; by default of the hidden size.

        In a model with an encoder, given embeddings take the places of some of the hidden size; they are not scaled.
        """
        x = Value(self, width or self.config.hidden_size)
        matrix = MatrixRef((name,), (vocab_size or self.config.vocab_size,), x.width, is_head=True)
        takes_given = self.config.vision is not None and not width
        self._note(OpCode.EMBED, target=x, matrices=(matrix,), scale=scale, flag=takes_given)
        return x

    def add_given(self, x: Value, place: int) -> Value:
        """x plus the given features of the tokens that have some, in the place of x, which must not be used again.

        A token's embedding and its features are side by side: those of `place` 1 follow the embedding.
        """
        self._note(OpCode.ADD_GIVEN, target=x, column=place * x.width, count=x.width)
        self._forget_encoded(x)
        return x

    def rms_norm(self, x: Value, name: str, *, plus_one: bool = False) -> Value:
        """x / rms(x) * gain; the gain is the tensor `name`, plus one if asked (Zhang, Sennrich 2019)."""
        normed = Value(self, x.width, x.rows)
        gains = VectorRef((name,), (x.width,), offset=float(plus_one))
        self._note(OpCode.NORM, source=x, target=normed, vector=gains)
        return normed

    def linear(
        self, x: Value, names: Sequence[str], widths: Sequence[int], *, bias: bool = False, is_fine: bool = False
    ) -> Value:
        """x @ W.T for the weights of these names and output widths, the results side by side.

        `is_fine`: in the format of the embedding and the output.
        """
        product = self._product(x, MatrixRef(tuple(names), tuple(widths), x.width, is_head=is_fine))
        if bias:
            vector = VectorRef(tuple(f"{name}.bias" for name in names), tuple(widths))
            self._note(OpCode.BIAS, target=product, vector=vector)
        return product

    def gated_queries_keys_values(self, x: Value, names: Sequence[str]) -> Value:
        """Queries, keys, values and gates of all heads side by side; the first weight has queries and gates."""
        c = self.config
        widths = (2 * c.query_size, c.kv_size, c.kv_size)
        return self._product(x, GatedQueriesRef(tuple(names), widths, x.width, False, c.num_heads))

    def sigmoid_gate(self, x: Value, gates: Value, column: int = 0) -> None:
        """x * sigmoid of as many gates, from `column` on, in the place of x; one gate goes for all of x."""
        is_one = gates.width == 1
        self._note(OpCode.SIGMOID_GATE, source=gates, target=x, column=column, count=x.width, flag=is_one)

    def add(self, x: Value, y: Value) -> Value:
        """x + y in the place of x, which must not be used again."""
        last = self.operations[-1]
        if last.code is OpCode.MATMUL and last.target is y and not last.flag:
            last.target, last.flag = x, True  # the product is added in the matmul
        else:
            self._note(OpCode.ADD, source=y, target=x)
        self._forget_encoded(x)
        return x

    def norm_heads(
        self,
        qkv: Value,
        column: int,
        num_heads: int,
        name: str | None,
        *,
        plus_one: bool = False,
        heads: AttentionHeads | None = None,
    ) -> None:
        """RMS norm of each of `num_heads` heads from `column` on, in place, with one gain for all or none.

        `heads` are those of the layer, whose number of key-value heads divides `num_heads`.
        """
        heads = heads or self.config.heads
        gains = None if name is None else VectorRef((name,), (heads.head_dim,), offset=float(plus_one))
        self._note(
            OpCode.NORM_HEADS,
            target=qkv,
            vector=gains,
            column=column,
            count=num_heads,
            flag=gains is None,
            attention_heads=heads,
        )

    def norm_columns(self, x: Value, column: int, width: int, name: str) -> None:
        """RMS norm of `width` columns from `column` on, in place."""
        self._note(OpCode.NORM_COLUMNS, target=x, vector=VectorRef((name,), (width,)), column=column, count=width)

    def scaled(self, x: Value, factor: float) -> Value:
        """x * factor in the place of x, which must not be used again."""
        if factor != 1:
            self._note(OpCode.SCALE, source=x, target=x, scale=factor)
            self._forget_encoded(x)
        return x

    def scaled_by(self, x: Value, name: str) -> Value:
        """x times the one number of the tensor `name`, in the place of x, which must not be used again."""
        self._note(OpCode.SCALE, source=x, target=x, vector=VectorRef((name,), (1,)), flag=True)
        self._forget_encoded(x)
        return x

    def attention(
        self,
        qkv: Value,
        *,
        rope: int | None = 0,
        window: int = 0,
        sinks: str | None = None,
        heads: AttentionHeads | None = None,
        kv_layer: int | None = None,
        sees_whole_tiles: bool = False,
        first: int = 0,
    ) -> Value:
        """Causal grouped-query attention over the cache, (rows, heads * head_dim).

        `qkv` holds the queries, keys and values of a token side by side; with `kv_layer`, the index of another layer
        among those that have keys and values in the cache, the queries alone. `sinks` has a score for each head,
        which takes part in the softmax and adds no value (Xiao et al. 2023). With `sees_whole_tiles`, a token attends
        to the positions up to its entry in `StepInputs.ends`. Positions before `first`, if given, are not attended to;
        there is no window then.
        """
        config, heads = self.config, heads or self.config.heads
        layer = len(self.stored_heads) if kv_layer is None else kv_layer
        if rope is not None:
            self._note(OpCode.ROTATE, target=qkv, rope=rope, flag=kv_layer is not None, attention_heads=heads)
        if config.query_growth is not None:
            growth = config.query_growth
            fields = {"scale": growth.factor, "count": growth.period, "attention_heads": heads}
            self._note(OpCode.SCALE_QUERIES, target=qkv, **fields)
        if kv_layer is None:
            self.stored_heads.append((heads.num_kv_heads, heads.head_dim))
            self._note(OpCode.STORE, source=qkv, layer=layer, column=heads.query_size, attention_heads=heads)
        assert self.stored_heads[layer] == (heads.num_kv_heads, heads.head_dim), "a layer reads heads like its own"
        attended = Value(self, heads.query_size)
        self._note(
            OpCode.ATTEND,
            source=qkv,
            target=attended,
            layer=layer,
            window=window or -first,
            scale=config.score_scale,
            softcap=config.attention_softcap,
            flag=sees_whole_tiles,
            bias=None if sinks is None else VectorRef((sinks,), (heads.num_heads,)),
            attention_heads=heads,
            reads_shared=kv_layer is not None,
        )
        return attended

    def gate_heads(self, attended: Value, gates: Value) -> Value:
        """Each head of `attended` times the sigmoid of its column of `gates`, in place."""
        self._note(OpCode.GATE_HEADS, source=gates, target=attended, attention_heads=self.config.heads)
        return attended

    def silu_gate(self, gate_up: Value) -> Value:
        """silu(gate) * up, with both side by side (Shazeer 2020)."""
        return self._gate(gate_up, is_gelu=False)

    def gelu_gate(self, gate_up: Value) -> Value:
        """gelu(gate) * up in the tanh approximation (Hendrycks, Gimpel 2016)."""
        return self._gate(gate_up, is_gelu=True)

    def gelu_times(self, x: Value, factors: Value, column: int) -> Value:
        """gelu(x) times as many columns of `factors`, from `column` on, in the place of x."""
        self._note(OpCode.GELU_TIMES, source=factors, target=x, column=column, count=x.width)
        return x

    def short_conv(self, projected: Value, name: str) -> Value:
        """C * conv(B * x) along the positions of each sequence, from B, C and x side by side (LFM2)."""
        layer, width = self.num_state_layers, projected.width // 3
        self.num_state_layers += 1
        self._note(OpCode.STORE_STATE, source=projected, layer=layer, count=width)
        mixed = Value(self, width)
        taps = VectorRef((name,), (width,), num_taps=self.config.num_taps)
        self._note(
            OpCode.SHORT_CONV,
            source=projected,
            target=mixed,
            layer=layer,
            count=width,
            column=self.config.num_taps,
            vector=taps,
        )
        return mixed

    def output(self, x: Value, norm: str, head: str, *, plus_one: bool = False) -> None:
        """The requested logits and their statistics: the last norm, the head, and the soft cap."""
        self._compute_logits(self.rms_norm(self._gathered(x), norm, plus_one=plus_one), head)

    def output_of_normed(self, hidden: Value, head: str) -> None:
        """As `output`, from the hidden states of all tokens after the last norm."""
        self._compute_logits(self._gathered(hidden), head)

    def _compute_logits(self, hidden: Value, head: str) -> None:
        self.hidden = hidden
        matrix = MatrixRef((head,), (self.config.vocab_size,), hidden.width, is_head=True)
        self.logits = self.scaled(self._product(self.hidden, matrix), self.config.logit_scale)
        if self.config.logit_softcap:
            self._note(OpCode.SOFTCAP, target=self.logits, softcap=self.config.logit_softcap)
        self.logit_stats = Value(self, logit_stats_width(self.logits.width), self.logits.rows)
        self._note(OpCode.LOGIT_STATS, source=self.logits, target=self.logit_stats)

    @property
    def _parts(self) -> list[Graph]:
        """Graphs of this model that run apart from it."""
        return [part for part in (self.drafter, self.encoder) if part is not None]

    @property
    def cached_layers(self) -> tuple[CachedLayer, ...]:
        """The layers of the cache, in the order of the attentions that store keys and values."""
        return cached_layers(self.stored_heads)

    @property
    def matrices(self) -> list[MatrixRef]:
        """Every matrix once, in the order of use; those of the parts after the others."""
        matrices = [matrix for op in self.operations for matrix in op.matrices]
        return list(dict.fromkeys([*matrices, *(matrix for part in self._parts for matrix in part.matrices)]))

    @property
    def vectors(self) -> list[VectorRef]:
        """Every vector once, in the order of use; then tables, then those of the parts."""
        vectors = [vector for op in self.operations for vector in (op.vector, op.bias) if vector is not None]
        others = [vector for part in self._parts for vector in part.vectors]
        return list(dict.fromkeys([*vectors, *self.tables, *others]))

    @property
    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor that the model needs; matrices are (outputs, inputs), unless transposed."""
        shapes: dict[str, tuple[int, ...]] = {}
        for matrix in self.matrices:
            shapes |= {
                name: matrix.stored_shape(height) for name, height in zip(matrix.names, matrix.heights, strict=True)
            }
        for vector in self.vectors:
            shapes |= {
                name: (length, *vector.row_shape) for name, length in zip(vector.names, vector.lengths, strict=True)
            }
        return shapes

    @property
    def num_weights(self) -> int:
        """Number of weights, those of the encoder apart."""
        num_encoding = 0 if self.encoder is None else self.encoder.num_weights
        return sum(math.prod(shape) for shape in self.tensor_shapes.values()) - num_encoding

    def _product(self, x: Value, matrix: MatrixRef) -> Value:
        product = Value(self, matrix.num_rows, x.rows)
        encoded = self._encode(x, for_head=matrix.is_head)
        self._note(OpCode.MATMUL, source=encoded, target=product, matrices=(matrix,))
        return product

    def _gate(self, gate_up: Value, *, is_gelu: bool) -> Value:
        width = gate_up.width // 2
        activated = Value(self, width, gate_up.rows)
        self._note(OpCode.GATE, source=gate_up, target=activated, count=width, flag=is_gelu)
        return activated

    def _gathered(self, x: Value) -> Value:
        """`x` of the rows with logits, which continue alone after the last operation that mixes rows.

        After the last attention or convolution every row is computed independently: values read there are
        gathered before. Attention to the keys and values of another layer reads no other row of the step.
        """
        mixing = [place for place, op in enumerate(self.operations) if op.code in _MIXES_ROWS and not op.reads_shared]
        start = mixing[-1] + 1 if mixing else 0
        before, after = self.operations[:start], self.operations[start:]
        known = set(_values_of(before))
        read = dict.fromkeys(value for value in [*_values_of(after), x] if value in known)
        assert not any(value.is_encoded for value in read), "rows are encoded where they are multiplied"
        gathered = {value: Value(self, value.width, RowKind.LOGITS) for value in read}
        self.operations = before
        for value, rows in gathered.items():
            self._note(OpCode.GATHER, source=value, target=rows)
        for value in _values_of(after):
            if value not in known:
                value.rows = RowKind.LOGITS
        for op in after:
            op.source = gathered.get(op.source, op.source) if op.source else None
            op.target = gathered.get(op.target, op.target) if op.target else None
        self.operations += after
        return gathered.get(x, x)

    def _encode(self, x: Value, *, for_head: bool = False) -> Value:
        key = (id(x), for_head)
        if key not in self._encoded:
            self._encoded[key] = Value(self, x.width, x.rows, is_encoded=True, for_head=for_head)
            self._note(OpCode.ENCODE, source=x, target=self._encoded[key], flag=for_head)
        return self._encoded[key]

    def _forget_encoded(self, x: Value) -> None:
        for for_head in (False, True):
            self._encoded.pop((id(x), for_head), None)

    def _note(self, code: OpCode, **fields: object) -> None:
        self.operations.append(GraphOperation(code=code, **fields))  # type: ignore[arg-type]


def _values_of(operations: Sequence[GraphOperation]) -> list[Value]:
    """Every value that is read or written, in the order of use."""
    return [value for op in operations for value in (op.source, op.target) if value is not None]
