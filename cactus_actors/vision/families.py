"""The table of families, and the processor of a model."""

from __future__ import annotations

from cactus_actors.protocol.errors import ModelFileInvalid
from cactus_actors.vision.gemma3 import Gemma3Pictures
from cactus_actors.vision.gemma4 import Gemma4Pictures
from cactus_actors.vision.idefics3 import Idefics3Pictures
from cactus_actors.vision.lfm2_vl import LFM2Pictures
from cactus_actors.vision.picture_config import PictureConfig
from cactus_actors.vision.picture_processor import PictureProcessor, TokenTexts
from cactus_actors.vision.qwen_vl import QwenPictures


def processor_of(config: PictureConfig, tokens: TokenTexts) -> PictureProcessor:
    """The processor of a model's pictures; raises ModelFileInvalid if the tokenizer lacks one of its tokens."""
    image_token = _text_of(config.image_token_id, tokens)
    match config.family:
        case "idefics3":
            return Idefics3Pictures(config, image_token)
        case "lfm2_vl":
            return LFM2Pictures(config, image_token)
        case "qwen_vl":
            return QwenPictures(config, image_token, *_known_texts_around(config, tokens))
        case "gemma3":
            return Gemma3Pictures(config, image_token, *_texts_around(config, tokens))
        case "gemma4":
            return Gemma4Pictures(config, image_token, *_texts_around(config, tokens))


def _texts_around(config: PictureConfig, tokens: TokenTexts) -> tuple[str, str]:
    return _text_of(config.start_token_id, tokens), _text_of(config.end_token_id, tokens)


def _known_texts_around(config: PictureConfig, tokens: TokenTexts) -> tuple[str, str]:
    """Empty unless the tokenizer has both tokens as control tokens."""
    ids = config.start_token_id, config.end_token_id
    if not all(each is not None and tokens.is_special(each) for each in ids):
        return "", ""
    return _texts_around(config, tokens)


def _text_of(token_id: int | None, tokens: TokenTexts) -> str:
    """The text of a control token; clients could write any other token themselves."""
    text = None if token_id is None else tokens.token_of(token_id)
    if token_id is None or not text or not tokens.is_special(token_id):
        raise ModelFileInvalid(f"token {token_id}, which config.json names for pictures, is not a control token")
    return text
