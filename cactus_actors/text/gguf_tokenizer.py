"""The tokenizer in the metadata of a GGUF file, rebuilt with the `tokenizers` package."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.models.pooling import pooling_of_gguf
from cactus_actors.text.gguf_assembly import assembled, first_ids, inner_of
from cactus_actors.text.gguf_unigram import unigram
from cactus_actors.text.gguf_vocabulary import GGUFVocabulary, TokenType
from cactus_actors.text.gguf_word_piece import word_piece
from cactus_actors.text.pre_tokenizers import SPLITTINGS
from cactus_actors.text.tokenizer import (
    Tokenizer,
    byte_level_bytes,
    byte_of_character,
    guarded,
    sentencepiece_bytes,
)


def tokenizer_from_gguf(file: GGUFFile) -> Tokenizer:
    """The tokenizer of a GGUF file; ModelFileInvalid names an invalid or unsupported key."""
    vocabulary = GGUFVocabulary.of(file)
    model = file.metadata.get("tokenizer.ggml.model")
    build = BUILDERS.get(model) if isinstance(model, str) else None
    if build is None:
        supported = ", ".join(BUILDERS)
        raise invalid(file.path, f"tokenizer.ggml.model is {model!r:.50}; supported: {supported}")
    return build(vocabulary)


def _sentencepiece(vocabulary: GGUFVocabulary) -> Tokenizer:
    """A SentencePiece vocabulary as a merging tokenizer with byte fallback.

    SentencePiece joins the two neighbours whose union has the best score. So every way to split a token into
    two others becomes a merge, ranked by the score of the token; equal scores rank by id, the order in which
    a trainer makes them.
    """
    scores = vocabulary.scores()
    ids = first_ids(vocabulary.tokens)
    joinable = {vocabulary.tokens[i] for i in vocabulary.ids_of(TokenType.NORMAL, TokenType.USER_DEFINED)}
    ranked = sorted(joinable, key=lambda token: (-float(scores[ids[token]]), ids[token]))
    merges = [
        (token[:cut], token[cut:])
        for token in ranked
        for cut in range(1, len(token))
        if token[:cut] in joinable and token[cut:] in joinable
    ]
    unknown = vocabulary.token_id("unknown")
    unknown_token = None if unknown is None else vocabulary.tokens[unknown]
    inner = inner_of(
        vocabulary, lambda: models.BPE(ids, merges, unk_token=unknown_token, fuse_unk=True, byte_fallback=True)
    )
    space = normalizers.Replace(" ", "\u2581")
    # Gemma is trained without a space in front of a text; its first files do not say so.
    if vocabulary.flag("add_space_prefix", default=not vocabulary.architecture.startswith("gemma")):
        inner.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), space])
    else:
        inner.normalizer = space
    token_bytes = [sentencepiece_bytes(token) for token in vocabulary.tokens]
    return _beginning(vocabulary, inner, token_bytes, add_bos=True, byte_level=False)


def _merging_characters(vocabulary: GGUFVocabulary) -> Tokenizer:
    """The vocabulary of Gemma 4: merges of characters with byte fallback, as in its tokenizer.json.

    No token has line breaks and other characters, so that texts are split there, as llama.cpp does.
    """
    merges = _merges_of(vocabulary)
    unknown = vocabulary.token_id("unknown")
    unknown_token = None if unknown is None else vocabulary.tokens[unknown]
    ids = first_ids(vocabulary.tokens)
    inner = inner_of(
        vocabulary, lambda: models.BPE(ids, merges, unk_token=unknown_token, fuse_unk=True, byte_fallback=True)
    )
    inner.normalizer = normalizers.Replace(" ", "\u2581")
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]+|\n+"), "isolated")
    token_bytes = [sentencepiece_bytes(token) for token in vocabulary.tokens]
    return _beginning(vocabulary, inner, token_bytes, add_bos=True, byte_level=False)


def _merges_of(vocabulary: GGUFVocabulary) -> list[tuple[str, str]]:
    """A merge is two tokens with a space between; a space itself is spelled otherwise in these vocabularies."""
    stored = vocabulary.metadata.get("tokenizer.ggml.merges")
    if not isinstance(stored, list):
        raise invalid(vocabulary.path, "tokenizer.ggml.merges is missing or not a list of strings")
    return [(left, right) for left, _, right in (merge.partition(" ") for merge in stored)]


def _byte_level(vocabulary: GGUFVocabulary) -> Tokenizer:
    name = vocabulary.metadata.get("tokenizer.ggml.pre", "default")
    splitting = SPLITTINGS.get(name) if isinstance(name, str) else None
    if splitting is None:
        different = {each: known for known, each in reversed(list(SPLITTINGS.items()))}  # one name of each
        supported = f"{', '.join(sorted(different.values()))}, and what splits alike"
        raise invalid(vocabulary.path, f"tokenizer.ggml.pre is {name!r:.50}; supported: {supported}")
    merges = _merges_of(vocabulary)
    inner = guarded(
        vocabulary.path,
        "the vocabulary or its merges are not usable",
        lambda: tokenizers.Tokenizer(
            models.BPE(first_ids(vocabulary.tokens), merges, ignore_merges=splitting.whole_words)
        ),
    )
    inner.pre_tokenizer = splitting.pre_tokenizer()
    table = byte_of_character()
    literal = set(vocabulary.ids_of(TokenType.USER_DEFINED))
    token_bytes = [
        token.encode() if token_id in literal else byte_level_bytes(token, table)
        for token_id, token in enumerate(vocabulary.tokens)
    ]
    return _beginning(vocabulary, inner, token_bytes, add_bos=splitting.add_bos, byte_level=True)


def _beginning(
    vocabulary: GGUFVocabulary,
    inner: tokenizers.Tokenizer,
    token_bytes: list[bytes],
    *,
    add_bos: bool,
    byte_level: bool,
) -> Tokenizer:
    """A tokenizer that prepends `bos` to a text, and appends `eos` if the last token is the embedding."""
    is_pooled = pooling_of_gguf(vocabulary.path, vocabulary.metadata) == "lasttoken"
    is_ended = is_pooled and vocabulary.flag("add_eos_token", default=False)
    return assembled(
        vocabulary,
        inner,
        token_bytes,
        byte_level=byte_level,
        bos_id=vocabulary.token_id("bos"),
        add_bos=vocabulary.flag("add_bos_token", default=add_bos),
        end_id=vocabulary.token_id("eos") if is_ended else None,
    )


BUILDERS: Mapping[str, Callable[[GGUFVocabulary], Tokenizer]] = {
    "llama": _sentencepiece,
    "gpt2": _byte_level,
    "gemma4": _merging_characters,
    "bert": word_piece,
    "t5": unigram,
}
"""By the value of `tokenizer.ggml.model`."""
