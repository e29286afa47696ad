"""A mixture of experts, for the graphs of model families."""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.workers.runtime.graph import Graph, Value
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.weight_refs import MatrixRef, VectorRef, biases_of
from cactus_actors.workers.spec.model_config import Experts


def mixed_experts(
    g: Graph,
    h: Value,
    router: str,
    names: Sequence[tuple[str, str, str]],
    *,
    bias: str | None = None,
    router_input: Value | None = None,
    scales: str | None = None,
    is_gelu: bool = False,
) -> Value:
    """The weighted sum of the chosen experts' gated networks, (tokens, hidden).

    `names` are the gate, up and down projections of each expert. `bias` is added to the scores by which
    experts are chosen, not to their weights; `scales` multiply the weights of experts that a softmax weighs.
    The router reads `router_input` in the place of h if it is given.
    """
    experts = g.config.experts
    assert experts is not None, "a layer has experts, so the config describes them"
    gate, routed = experts.gate, h if router_input is None else router_input
    logits = g.linear(routed, [router], [experts.num_experts], bias=gate is not None, is_fine=True)
    if experts.has_sigmoid_scores:
        _choose_by_sigmoid(g, logits, experts, bias)
    else:
        factors = None if scales is None else VectorRef((scales,), (experts.num_experts,))
        g._note(OpCode.CHOOSE, source=logits, count=experts.num_chosen, flag=experts.normalised, bias=factors)
    g._note(OpCode.GROUP, count=experts.num_experts)
    chosen = Value(g, h.width, RowKind.CHOICES, is_encoded=True)
    g._note(OpCode.ENCODE_CHOSEN, source=h, target=chosen, count=experts.num_experts)
    gate_up = _expert_linear(g, chosen, [name[:2] for name in names], [experts.ffn_size] * 2)
    if gate is None:
        activated = g.gelu_gate(gate_up) if is_gelu else g.silu_gate(gate_up)
    else:
        activated = Value(g, experts.ffn_size, RowKind.CHOICES)
        g._note(
            OpCode.CLAMPED_GATE,
            source=gate_up,
            target=activated,
            count=experts.ffn_size,
            vector=biases_of([name for each in names for name in each[:2]], experts.ffn_size),
            scale=gate.alpha,
            softcap=gate.limit,
        )
    encoded = Value(g, activated.width, RowKind.CHOICES, is_encoded=True)
    g._note(OpCode.ENCODE_CHOSEN, source=activated, target=encoded, count=experts.num_experts)
    down = _expert_linear(g, encoded, [name[2:] for name in names], [h.width])
    combined = Value(g, h.width)
    biases = None if gate is None else biases_of([each[2] for each in names], h.width)
    g._note(OpCode.COMBINE, source=down, target=combined, bias=biases)
    return combined


def _choose_by_sigmoid(g: Graph, logits: Value, experts: Experts, bias: str | None) -> None:
    """Sigmoids weigh the experts; with a bias they are chosen by other scores, computed first."""
    scores = logits
    if bias is not None:
        scores = Value(g, logits.width, logits.rows)
        g._note(OpCode.SCORE, source=logits, target=scores, vector=VectorRef((bias,), (logits.width,)))
    # The choice reads both rows and writes neither: `target` keeps the logits alive until then.
    g._note(
        OpCode.CHOOSE,
        source=scores,
        target=logits,
        count=experts.num_chosen,
        flag=experts.normalised,
        column=1,
        scale=experts.scale,
    )


def _expert_linear(g: Graph, x: Value, names: Sequence[Sequence[str]], widths: Sequence[int]) -> Value:
    product = Value(g, sum(widths), RowKind.CHOICES)
    matrices = tuple(MatrixRef(tuple(each), tuple(widths), x.width, is_head=False) for each in names)
    g._note(OpCode.EXPERT_MATMUL, source=x, target=product, matrices=matrices, count=len(names))
    return product
