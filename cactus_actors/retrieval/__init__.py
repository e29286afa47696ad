"""Documents of a directory, found by their words and their meaning, for a prompt to stand on."""

from cactus_actors.retrieval.corpus import Corpus, CorpusLimits
from cactus_actors.retrieval.index import Index
from cactus_actors.retrieval.source_prompting import NUM_SOURCES, fitting, question_of, with_sources
from cactus_actors.retrieval.vector_store import Embed

__all__ = ["NUM_SOURCES", "Corpus", "CorpusLimits", "Embed", "Index", "fitting", "question_of", "with_sources"]
