"""From what a client wrote to what a worker can run, or a typed error that names the field."""

from cactus_actors.router.prepare.model import PromptModel, PromptTokenizer

__all__ = ["PromptModel", "PromptTokenizer"]
