"""Grammars in GBNF, the notation of llama.cpp (its grammars/README.md)."""

from cactus_actors.structured.gbnf.lark import lark_of_gbnf

__all__ = ["lark_of_gbnf"]
