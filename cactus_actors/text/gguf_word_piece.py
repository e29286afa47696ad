"""The WordPiece vocabularies of BERT and its kind (Devlin et al. 2019) in GGUF files.

In a file, tokens that begin a word have a prefix U+2581, and the others lack the ## of the original.
"""

from __future__ import annotations

from tokenizers import models, normalizers, pre_tokenizers

from cactus_actors.text.gguf_assembly import assembled, first_ids, inner_of
from cactus_actors.text.gguf_vocabulary import GGUFVocabulary
from cactus_actors.text.tokenizer import BREAK, Tokenizer, sentencepiece_bytes

WORD = "\u2581"
MAX_WORD_CHARACTERS = 100
"""Longer words are unknown, as in BERT."""


def word_piece(vocabulary: GGUFVocabulary) -> Tokenizer:
    """Words are cut greedily into the longest tokens; one that cannot be cut is the unknown token.

    A text is put between the tokens `cls` (or `bos`) and `seperator` (spelled so in the key).
    """
    unknown = vocabulary.unknown_id()
    inner = inner_of(
        vocabulary,
        lambda: models.WordPiece(
            first_ids(vocabulary.tokens),
            unk_token=vocabulary.tokens[unknown],
            max_input_chars_per_word=len(WORD) + MAX_WORD_CHARACTERS,
            continuing_subword_prefix="",
        ),
    )
    lower_case = vocabulary.flag("normalizer.lowercase", default=True)
    inner.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(BREAK, ""),  # it would separate a word from its prefix
            normalizers.BertNormalizer(
                clean_text=True,
                handle_chinese_chars=True,
                strip_accents=vocabulary.flag("normalizer.strip_accents", default=lower_case),
                lowercase=lower_case,
            ),
        ]
    )
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.BertPreTokenizer(),
            pre_tokenizers.Metaspace(replacement=WORD, prepend_scheme="always", split=False),
        ]
    )
    begins, ends = (vocabulary.token_id(key) for key in ("bos", "seperator"))
    return assembled(
        vocabulary,
        inner,
        [sentencepiece_bytes(token) for token in vocabulary.tokens],
        byte_level=False,
        bos_id=vocabulary.token_id("cls") if begins is None else begins,
        add_bos=True,
        end_id=ends if vocabulary.flag("add_sep_token", default=True) else None,
    )
