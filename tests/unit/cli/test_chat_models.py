"""`cactus chat` with a service of several models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest
import typer.testing

from cactus_actors.protocol.errors import ModelNotFound, NotSupported
from cactus_actors.protocol.messages import Rejected, Submit
from cactus_actors.protocol.service_status import AdapterStatus
from tests.support.router.scripted_router import ScriptedRouter
from tests.support.router.two_models import TwoModels

Cactus = Callable[..., typer.testing.Result]


@pytest.fixture
def router() -> Iterator[TwoModels]:
    with TwoModels() as router:
        yield router


def refuse_model(router: ScriptedRouter, name: str) -> None:
    def refuse(identity: bytes, submit: Submit) -> None:
        if submit.model == name:
            error = ModelNotFound(f"no model {name!r}; models of this service: small, large", param="model")
            router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))
        else:
            on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, refuse  # type: ignore[method-assign]


@pytest.mark.parametrize("model", ["large", "big", "fast-then-good", "small:poems", None])
def test_every_turn_asks_the_given_model(cactus: Cactus, router: ScriptedRouter, model: str | None) -> None:
    given = () if model is None else ("--model", model)
    cactus("chat", *given, input="one\n/reset\ntwo\n")
    assert [submit.model for submit in router.submitted()] == [model, model]


def test_a_model_that_the_service_lacks_ends_the_command(cactus: Cactus, router: ScriptedRouter) -> None:
    refuse_model(router, "medium")
    with pytest.raises(ModelNotFound, match="no model 'medium'; models of this service: small, large"):
        cactus("chat", "--model", "medium", input="one\ntwo\n")
    assert len(router.submitted()) == 1


def test_the_template_of_the_given_model_counts(cactus: Cactus, router: ScriptedRouter) -> None:
    status = router.status

    def with_raw_large(request_id: str) -> object:
        told = status(request_id)
        small, large = told.models
        return msgspec.structs.replace(told, models=[small, msgspec.structs.replace(large, has_chat_template=False)])

    router.status = with_raw_large  # type: ignore[assignment, method-assign]
    with pytest.raises(NotSupported, match="the model large has no chat template"):
        cactus("chat", "--model", "big", input="one\n")
    cactus("chat", "--model", "little", input="one\n")
    assert [submit.model for submit in router.submitted()] == ["little"]


def test_an_adapter_is_one_of_the_given_model(cactus: Cactus, router: ScriptedRouter) -> None:
    status, verses = router.status, AdapterStatus(name="verses", path="", model="large")
    router.status = lambda request_id: msgspec.structs.replace(  # type: ignore[method-assign]
        status(request_id), adapters=[*status(request_id).adapters, verses]
    )
    told = "no adapter 'verses'; adapters of small: poems; large has it: --model large"
    with pytest.raises(ModelNotFound, match=told):
        cactus("chat", "--lora", "verses", input="one\n")
    with pytest.raises(ModelNotFound, match=r"no adapter 'prose'; adapters of large: verses$"):
        cactus("chat", "--model", "big", "--lora", "prose", input="one\n")
    cactus("chat", "--model", "big", "--lora", "verses", input="one\n")
    [submit] = router.submitted()
    assert (submit.model, submit.options.lora) == ("big", "verses")
