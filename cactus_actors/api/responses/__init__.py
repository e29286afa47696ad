"""OpenAI's Responses: requests become those of a chat, results and streams become responses and their events.

Source: the API reference of OpenAI, and the types of its Python package.
"""

from cactus_actors.api.responses.body_fields import Item, ResponsesBody
from cactus_actors.api.responses.item_ids import response_id_of, response_of_item
from cactus_actors.api.responses.response_body import ResponseHead
from cactus_actors.api.responses.response_events import EndedAnswer, ResponseEvents
from cactus_actors.api.responses.response_request import ResponseRequest, request_from_response

__all__ = [
    "EndedAnswer",
    "Item",
    "ResponseEvents",
    "ResponseHead",
    "ResponseRequest",
    "ResponsesBody",
    "request_from_response",
    "response_id_of",
    "response_of_item",
]
