"""Ollama's chat and generate: requests become those of a chat or a completion, results become its lines of JSON.

Source: Ollama's API documentation.
"""

from cactus_actors.api.ollama.answer_lines import OllamaAnswer, OllamaLines, ollama_error_body
from cactus_actors.api.ollama.chat_requests import request_from_generate, request_from_ollama_chat

__all__ = ["OllamaAnswer", "OllamaLines", "ollama_error_body", "request_from_generate", "request_from_ollama_chat"]
