"""The process that prepares requests: `python -m cactus_actors.router.preparation.preparer_child FD PARENT SETTINGS`.

It reads lists of requests from the socket FD and answers each list, in order, until the router, PARENT, is gone.
SETTINGS are PreparerSettings as JSON.
"""

from __future__ import annotations

import contextlib
import faulthandler
import resource
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from cactus_actors.process.batch_scheduling import schedule_as_batch, schedule_as_usual
from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import CactusError, RequestTooComplex, ServerFailure
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Source
from cactus_actors.router.preparation.documented_requests import Find, no_documents, prepare_with_documents
from cactus_actors.router.preparation.picture_cache import MAX_BYTES, PictureCache
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prepared_tiers import prepare_tiers
from cactus_actors.router.preparation.preparer_frames import (
    PreparerReady,
    PreparerReply,
    PreparerRequest,
    PreparerSettings,
    receive,
    send,
)
from cactus_actors.router.preparation.request_pictures import check_sees
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.text import load_text_model
from cactus_actors.vision.picture_reader import PictureReader

MEMORY_BYTES = 512 << 20
"""The memory that requests may take beyond that of the process with its model loaded."""

_decode = msgspec.msgpack.Decoder(list[PreparerRequest]).decode

Prepare = Callable[[PreparerRequest, Sequence[bytes]], PreparedRequest]


def serve(connection: socket.socket, prepare_one: Prepare) -> None:
    """Answer requests until the other side is gone."""
    is_batch = False
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            requests = _decode(receive(connection))
            if is_batch != all(request.submit.options.is_background for request in requests):
                is_batch = not is_batch
                (schedule_as_batch if is_batch else schedule_as_usual)()
            frames = [[receive(connection) for _ in range(request.num_frames)] for request in requests]
            send(connection, [_answer(*each, prepare_one) for each in zip(requests, frames, strict=True)])


def _answer(request: PreparerRequest, frames: Sequence[bytes], prepare_one: Prepare) -> PreparerReply:
    try:
        return PreparerReply(prepared=prepare_one(request, frames))
    except CactusError as refusal:
        return PreparerReply(error=refusal.info())
    except (MemoryError, RecursionError):
        excess = RequestTooComplex("the request needs more memory than preparing one may take")
        return PreparerReply(error=excess.info())
    except Exception as error:  # an error of the tokenizer fails this request only
        failure = ServerFailure(f"the request could not be prepared: {type(error).__name__}")
        return PreparerReply(error=failure.info())


def limit_memory(more_bytes: int) -> None:
    """Limit the growth of the process; without /proc nothing happens."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        size = int(statm.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + more_bytes, size + more_bytes))


def main() -> None:
    descriptor, parent, arguments = sys.argv[1:]
    settings = msgspec.json.decode(arguments, type=PreparerSettings)
    end_with_parent(int(parent))
    faulthandler.enable()
    connection = socket.socket(fileno=int(descriptor))
    models = {model.name: load_text_model(Path(model.path), model.overrides) for model in settings.models}
    finds: dict[str, Find] = dict.fromkeys(models, no_documents)
    if settings.corpus is not None:
        from cactus_actors.router.preparation.documents import Documents

        finds = {name: Documents(Path(settings.corpus), model).find for name, model in models.items()}
    root = None if settings.pictures.root is None else Path(settings.pictures.root)
    reader = PictureReader(root, settings.pictures.hosts)
    cache = PictureCache()

    def prepare_one(request: PreparerRequest, frames: Sequence[bytes]) -> PreparedRequest:
        def prepare_for(name: str, submit: Submit, sources: Sequence[Source] | None) -> PreparedRequest:
            check_sees(submit, name, models)
            keeps, tenant = settings.keeps_pictures, request.tenant
            contents = PictureContents(reader, frames, keeps=keeps, cache=cache, tenant=tenant)
            return prepare_with_documents(submit, sources, models[name], finds[name], contents)

        name, submit = request.model, request.submit
        if settings.cascade.is_named_by(name):
            return prepare_tiers(settings.cascade.models, submit, request.sources, prepare_for)
        prepared = prepare_for(name, submit, request.sources)
        return msgspec.structs.replace(prepared, model=name) if name and submit.model is None else prepared

    warnings.filterwarnings("ignore", module="PIL")  # about pictures of clients, who get an error or none
    limit_memory(MEMORY_BYTES + MAX_BYTES)
    send(connection, PreparerReady())
    serve(connection, prepare_one)


if __name__ == "__main__":
    main()
