"""Retrieval from documents of a directory, by words and by embeddings, for prompts."""

from cactus_actors.retrieval.corpus import Corpus, CorpusLimits
from cactus_actors.retrieval.index import Index
from cactus_actors.retrieval.source_prompting import NUM_SOURCES, fitting, question_of, with_sources
from cactus_actors.retrieval.vector_store import Embed

__all__ = ["NUM_SOURCES", "Corpus", "CorpusLimits", "Embed", "Index", "fitting", "question_of", "with_sources"]
