"""The unigram vocabularies of T5, XLM-RoBERTa and their kind (Kudo 2018) in GGUF files."""

from __future__ import annotations

import numpy as np
from tokenizers import Regex, models, normalizers
from tokenizers.normalizers import Normalizer

from cactus_actors.models.checked_files import invalid
from cactus_actors.text.character_map import fault_in_character_map
from cactus_actors.text.gguf_assembly import assembled, inner_of
from cactus_actors.text.gguf_vocabulary import GGUFVocabulary, TokenType
from cactus_actors.text.tokenizer import Tokenizer, guarded, sentencepiece_bytes

SPACE = "\u2581"
CHARACTER_MAP = "tokenizer.ggml.precompiled_charsmap"


def unigram(vocabulary: GGUFVocabulary) -> Tokenizer:
    """The tokenizer that cuts a text so that the sum of scores, logarithms of probabilities, is the largest."""
    scores = vocabulary.scores()
    if not np.isfinite(scores).all():
        raise invalid(vocabulary.path, "tokenizer.ggml.scores are not all finite")
    unknown = vocabulary.unknown_id()
    inner = inner_of(
        vocabulary,
        lambda: models.Unigram(
            list(zip(vocabulary.tokens, map(float, scores), strict=True)),
            unk_id=unknown,
            byte_fallback=bool(vocabulary.ids_of(TokenType.BYTE)),
        ),
    )
    inner.normalizer = normalizers.Sequence(_normalizers(vocabulary))
    return assembled(
        vocabulary,
        inner,
        [sentencepiece_bytes(token) for token in vocabulary.tokens],
        byte_level=False,
        bos_id=vocabulary.token_id("bos"),
        add_bos=vocabulary.flag("add_bos_token", default=False),
        end_id=vocabulary.token_id("eos") if vocabulary.flag("add_eos_token", default=True) else None,
    )


def _normalizers(vocabulary: GGUFVocabulary) -> list[Normalizer]:
    """SentencePiece's normalisation of a text."""
    steps: list[Normalizer] = []
    if CHARACTER_MAP in vocabulary.metadata:
        stored = vocabulary.metadata[CHARACTER_MAP]
        if not isinstance(stored, np.ndarray) or stored.dtype.itemsize != 1 or stored.dtype.kind not in "iu":
            raise invalid(vocabulary.path, f"{CHARACTER_MAP} must be an array of bytes")
        if (fault := fault_in_character_map(stored.tobytes())) is not None:
            raise invalid(vocabulary.path, f"{CHARACTER_MAP} has {fault}")
        steps.append(
            guarded(
                vocabulary.path,
                f"{CHARACTER_MAP} is not usable",
                lambda: normalizers.Precompiled(stored.tobytes()),
            )
        )
    if vocabulary.flag("remove_extra_whitespaces", default=False):
        steps += [normalizers.Replace(Regex(r"\A +| +\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if vocabulary.flag("add_space_prefix", default=False):
        steps.append(normalizers.Prepend(SPACE))
    return [*steps, normalizers.Replace(" ", SPACE)]
