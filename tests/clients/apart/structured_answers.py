"""`instructor` by /v1/responses: an answer as an object of pydantic. Prints it as JSON."""

from __future__ import annotations

import json
import sys

import instructor
import openai
import pydantic


class Place(pydantic.BaseModel):
    """A place."""

    name: str = pydantic.Field(max_length=12)
    people: int = pydantic.Field(ge=0, le=99)


def main(url: str, model: str, question: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="no-key", timeout=60) as inner:
        client = instructor.from_openai(inner, mode=instructor.Mode.RESPONSES_TOOLS)
        turns = [{"role": "user", "content": question}]
        place = client.responses.create(model=model, input=turns, response_model=Place, temperature=0, max_retries=0)
    assert isinstance(place, Place)
    print(json.dumps(place.model_dump()))


if __name__ == "__main__":
    main(*sys.argv[1:])
