"""Structured output: text constrained by a schema, an expression or a grammar."""

from cactus_actors.structured.after_reasoning import after_reasoning
from cactus_actors.structured.grammar_roots import ROOTS
from cactus_actors.structured.grammar_trial import try_grammar
from cactus_actors.structured.request_grammar import compile_request
from cactus_actors.tools.grammar_builder import TokenNames

__all__ = ["ROOTS", "TokenNames", "after_reasoning", "compile_request", "try_grammar"]
