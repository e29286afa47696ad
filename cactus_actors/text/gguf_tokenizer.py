"""The tokenizer in the metadata of a GGUF file, rebuilt with the `tokenizers` package."""

from __future__ import annotations

import numpy as np
import tokenizers
from tokenizers import AddedToken, models, normalizers

from cactus_actors.models.files import invalid
from cactus_actors.models.gguf_file import GGUFFile
from cactus_actors.text.gguf_vocabulary import TokenType, Vocabulary
from cactus_actors.text.pre_tokenizers import SPLITTINGS
from cactus_actors.text.tokenizer import (
    Tokenizer,
    byte_level_bytes,
    byte_of_character,
    guarded,
    sentencepiece_bytes,
)

_PHI3_PLAIN_TOKENS = frozenset({"<unk>", "<s>", "<|endoftext|>"})


def tokenizer_from_gguf(file: GGUFFile) -> Tokenizer:
    """The tokenizer of a GGUF file; ModelFileInvalid names the key that is wrong or not supported."""
    vocabulary = Vocabulary.of(file)
    model = file.metadata.get("tokenizer.ggml.model")
    if isinstance(model, str) and model == "llama":
        return _sentencepiece(vocabulary)
    if isinstance(model, str) and model == "gpt2":
        return _byte_level(vocabulary)
    raise invalid(file.path, f"tokenizer.ggml.model is {model!r:.50}; supported: llama, gpt2")


def _sentencepiece(vocabulary: Vocabulary) -> Tokenizer:
    """A SentencePiece vocabulary as a merging tokenizer with byte fallback.

    SentencePiece joins the two neighbours whose union has the best score. So every way to split a token into
    two others becomes a merge, ranked by the score of the token; equal scores rank by id, the order in which
    a trainer makes them.
    """
    scores = vocabulary.metadata.get("tokenizer.ggml.scores")
    if not isinstance(scores, np.ndarray) or len(scores) != len(vocabulary.tokens) or np.isnan(scores).any():
        raise invalid(vocabulary.path, f"tokenizer.ggml.scores must be {len(vocabulary.tokens)} numbers")
    ids = _first_ids(vocabulary.tokens)
    joinable = {vocabulary.tokens[i] for i in vocabulary.ids_of(TokenType.NORMAL, TokenType.USER_DEFINED)}
    ranked = sorted(joinable, key=lambda token: (-float(scores[ids[token]]), ids[token]))
    merges = [
        (token[:cut], token[cut:])
        for token in ranked
        for cut in range(1, len(token))
        if token[:cut] in joinable and token[cut:] in joinable
    ]
    unknown = vocabulary.token_id("unknown")
    inner = guarded(
        vocabulary.path,
        "the vocabulary is not usable",
        lambda: tokenizers.Tokenizer(
            models.BPE(
                ids,
                merges,
                unk_token=None if unknown is None else vocabulary.tokens[unknown],
                fuse_unk=True,
                byte_fallback=True,
            )
        ),
    )
    space = normalizers.Replace(" ", "\u2581")
    # Gemma is trained without a space in front of a text; its first files do not say so.
    if vocabulary.flag("add_space_prefix", default=not vocabulary.architecture.startswith("gemma")):
        inner.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), space])
    else:
        inner.normalizer = space
    token_bytes = [sentencepiece_bytes(token) for token in vocabulary.tokens]
    return _finished(vocabulary, inner, token_bytes, add_bos=True, byte_level=False)


def _byte_level(vocabulary: Vocabulary) -> Tokenizer:
    name = vocabulary.metadata.get("tokenizer.ggml.pre", "default")
    splitting = SPLITTINGS.get(name) if isinstance(name, str) else None
    if splitting is None:
        different = {each: known for known, each in reversed(SPLITTINGS.items())}  # one name of each
        supported = f"{', '.join(sorted(different.values()))}, and what splits alike"
        raise invalid(vocabulary.path, f"tokenizer.ggml.pre is {name!r:.50}; supported: {supported}")
    stored = vocabulary.metadata.get("tokenizer.ggml.merges")
    if not isinstance(stored, list):
        raise invalid(vocabulary.path, "tokenizer.ggml.merges is missing or not a list of strings")
    # A merge is two tokens with a space between; a space itself is spelled otherwise in these vocabularies.
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in stored)]
    inner = guarded(
        vocabulary.path,
        "the vocabulary or its merges are not usable",
        lambda: tokenizers.Tokenizer(
            models.BPE(_first_ids(vocabulary.tokens), merges, ignore_merges=splitting.whole_words)
        ),
    )
    inner.pre_tokenizer = splitting.pre_tokenizer()
    table = byte_of_character()
    literal = set(vocabulary.ids_of(TokenType.USER_DEFINED))
    token_bytes = [
        token.encode() if token_id in literal else byte_level_bytes(token, table)
        for token_id, token in enumerate(vocabulary.tokens)
    ]
    return _finished(vocabulary, inner, token_bytes, add_bos=splitting.add_bos, byte_level=True)


def _finished(
    vocabulary: Vocabulary,
    inner: tokenizers.Tokenizer,
    token_bytes: list[bytes],
    *,
    add_bos: bool,
    byte_level: bool,
) -> Tokenizer:
    special_ids = vocabulary.ids_of(TokenType.CONTROL, TokenType.UNKNOWN)
    literal_ids = vocabulary.ids_of(TokenType.USER_DEFINED)
    inner.add_special_tokens(_added(vocabulary, special_ids, special=True))
    inner.add_tokens(_added(vocabulary, literal_ids, special=False))
    for token_id in special_ids:
        token_bytes[token_id] = b""
    return Tokenizer(
        inner,
        token_bytes=token_bytes,
        special_ids=special_ids,
        bos_id=vocabulary.token_id("bos"),
        add_bos=vocabulary.flag("add_bos_token", default=add_bos),
        byte_level=byte_level,
    )


def _added(vocabulary: Vocabulary, ids: list[int], *, special: bool) -> list[AddedToken]:
    texts = (vocabulary.tokens[token_id] for token_id in ids)
    return [
        AddedToken(text, special=special, normalized=False, rstrip=special and _strips(vocabulary, text))
        for text in texts
        if text
    ]


def _strips(vocabulary: Vocabulary, text: str) -> bool:
    """Whether the control token `text` takes the white space that follows it with it.

    In tokenizer.json each token says so; GGUF files cannot, and of the models here those of the name Phi-3
    with a SentencePiece vocabulary do so, for the tokens of their turns.
    """
    is_phi3 = vocabulary.architecture == "phi3" and vocabulary.metadata["tokenizer.ggml.model"] == "llama"
    return is_phi3 and text not in _PHI3_PLAIN_TOKENS


def _first_ids(tokens: list[str]) -> dict[str, int]:
    """Token -> id; of two tokens with the same text the first is the one that encoding yields."""
    return {token: token_id for token_id, token in reversed(list(enumerate(tokens)))}
