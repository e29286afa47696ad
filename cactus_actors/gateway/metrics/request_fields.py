"""Names of ignored request fields that are counted by name."""

from __future__ import annotations

OTHER = "other"
"""The label of all names that are not in KNOWN, so that clients choose no labels."""

_OPENAI = """
    audio best_of echo frequency_penalty function_call functions input instructions logit_bias logprobs
    max_completion_tokens max_output_tokens max_tokens messages metadata modalities model n
    parallel_tool_calls prediction presence_penalty previous_response_id prompt prompt_cache_key
    prompt_cache_retention reasoning reasoning_effort response_format safety_identifier seed service_tier
    stop store stream stream_options suffix temperature tool_choice tools top_logprobs top_p truncation
    user verbosity web_search_options
"""
_LLAMA_CPP = """
    add_generation_prompt adaptive_decay adaptive_target cache_prompt chat_format chat_template
    chat_template_kwargs continue_final_message dry_allowed_length dry_base dry_multiplier
    dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range grammar grammar_lazy
    grammar_triggers id_slot ignore_eos input_extra input_prefix input_suffix json_schema lora min_keep
    min_p mirostat mirostat_eta mirostat_tau n_cache_reuse n_discard n_indent n_keep n_predict n_probs
    parse_tool_calls penalize_nl post_sampling_probs preserved_tokens reasoning_format repeat_last_n
    repeat_penalty response_fields return_progress return_tokens samplers t_max_predict_ms t_max_prompt_ms
    tfs_z thinking_forced_open timings_per_token top_k top_n_sigma typical_p xtc_probability xtc_threshold
"""
KNOWN = frozenset((_OPENAI + _LLAMA_CPP).split())
"""Fields of OpenAI's completions, chat and responses and of llama.cpp's server, from their references."""


def counted_name(field: str) -> str:
    """The label that `field` is counted under."""
    return field if field in KNOWN else OTHER
