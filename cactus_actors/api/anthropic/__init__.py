"""Anthropic's Messages: requests become those of a chat, results and streams become messages and their events.

Source: Anthropic's API reference.
"""

from cactus_actors.api.anthropic.message_body import STOP_REASONS, anthropic_error_body, message_body
from cactus_actors.api.anthropic.message_events import MessageEvents
from cactus_actors.api.anthropic.message_request import MESSAGES, request_from_message

__all__ = ["MESSAGES", "STOP_REASONS", "MessageEvents", "anthropic_error_body", "message_body", "request_from_message"]
