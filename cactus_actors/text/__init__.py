"""Text and tokens: the tokenizer and the chat template of a model."""

from cactus_actors.text.chat_template import ChatTemplate
from cactus_actors.text.text_model import TextModel, load_text_model
from cactus_actors.text.tokenizer import Tokenizer

__all__ = ["ChatTemplate", "TextModel", "Tokenizer", "load_text_model"]
