"""`llama-index` by /v1/responses: a completion, a chat, and a stream. Prints their texts as JSON."""

from __future__ import annotations

import json
import sys

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses


def main(url: str, question: str) -> None:
    model = OpenAIResponses(  # it takes the names of models that it knows only
        model="gpt-4o-mini", api_base=f"{url}/v1", api_key="no-key", temperature=0, max_output_tokens=60
    )
    turns = [ChatMessage(role="user", content=question)]
    texts = {
        "completed": model.complete(question).text,
        "answered": model.chat(turns).message.content,
        "streamed": "".join(part.delta or "" for part in model.stream_chat(turns)),
    }
    print(json.dumps(texts))


if __name__ == "__main__":
    main(*sys.argv[1:])
