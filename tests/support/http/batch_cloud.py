"""A cloud's endpoints for files and batches on a local port, with the faults that a batch may have."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.http.serving import Request, http_serving

Body = dict[str, Any]


def completion(body: Body) -> Body:
    """The answer to a chat completion: its last message in capitals."""
    text = body["messages"][-1]["content"].upper()
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 4}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def answered(custom_id: str, body: Body) -> Body:
    """A line of an output file."""
    return {"id": "r", "custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None}


def failed(custom_id: str, message: str, status: int = 400) -> Body:
    """A line of an error file."""
    response = {"status_code": status, "body": {"error": {"message": message}}}
    return {"id": "r", "custom_id": custom_id, "response": response, "error": {"message": message}}


@dataclass
class BatchCloud:
    """Ends batches as `ending` once `may_end` is set; `answer` gives the line for each question.

    Lines with an error are in the error file, those that are None in none. A request whose method and path match
    `refuses` is answered with `refusal`, one that matches `loses` is carried out, and its reply lost, once.
    """

    answer: Callable[[str, Body], Body | None] = lambda custom_id, body: answered(custom_id, completion(body))
    ending: str = "completed"
    may_end: threading.Event = field(default_factory=threading.Event)
    refuses: str = "(?!)"
    refusal: tuple[int, Body] = (503, {"error": {"message": "busy"}})
    retry_after: str | None = None
    loses: str = "(?!)"
    base_url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Body] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def questions(self) -> list[Body]:
        """Every line of every batch's input."""
        inputs = (self.files[batch["input_file_id"]] for batch in self.batches.values())
        return [json.loads(line) for content in inputs for line in content.splitlines()]

    def num_of(self, method: str, path: str) -> int:
        return sum(one == method and re.fullmatch(path, other) is not None for one, other in self.requests)

    def serve(self, request: Request) -> None:
        content = request.rfile.read(int(request.headers.get("content-length") or 0))
        with self._lock:
            path = request.path.removeprefix("/v1")
            self.requests.append((request.command, path))
            self.keys.add(request.headers.get("authorization") or "")
            name = f"{request.command} {path}"
            status, reply = self.refusal if re.match(self.refuses, name) else self._reply(request, path, content)
            if re.match(self.loses, name):
                self.loses = "(?!)"
                request.close_connection = True
                return
        sent = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        request.send_response(status)
        request.send_header("Content-Length", f"{len(sent)}")
        if status == self.refusal[0] and self.retry_after is not None:
            request.send_header("Retry-After", self.retry_after)
        request.end_headers()
        request.wfile.write(sent)

    def _reply(self, request: Request, path: str, content: bytes) -> tuple[int, Body | bytes]:
        match request.command, path.partition("?")[0].strip("/").split("/"):
            case "POST", ["files"]:
                name = f"file-{len(self.files)}"
                boundary = request.headers["content-type"].partition("boundary=")[2].encode()
                parts = content.split(b"--" + boundary)
                [file] = [part for part in parts if b"filename=" in part]
                assert any(b'name="purpose"' in part and b"batch" in part for part in parts)
                self.files[name] = file.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
                return 200, {"id": name, "purpose": "batch"}
            case "POST", ["batches"]:
                return 200, self._create(json.loads(content))
            case "GET", ["batches"]:
                return 200, self._page(path)
            case "GET", ["batches", name] if name in self.batches:
                self._end(self.batches[name])
                return 200, self.batches[name]
            case "GET", ["files", name, "content"] if name in self.files:
                return 200, self.files[name]
        return 404, {"error": {"message": "no such thing"}}

    def _create(self, body: Body) -> Body:
        name = f"batch-{len(self.batches)}"
        batch = {
            "id": name,
            "object": "batch",
            "status": "validating",
            "created_at": int(time.time()),
            "input_file_id": body["input_file_id"],
            "metadata": body["metadata"],
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }
        self.batches[name] = batch
        return batch

    def _page(self, path: str) -> Body:
        """A page of one batch, the newest first: clients must read on."""
        names = list(reversed(self.batches))
        after = re.search(r"after=([^&]*)", path)
        names = names[names.index(after[1]) + 1 :] if after else names
        return {"data": [self.batches[name] for name in names[:1]], "has_more": len(names) > 1}

    def _end(self, batch: Body) -> None:
        if batch["status"] not in ("validating", "in_progress"):
            return
        batch["status"] = "in_progress"
        if not self.may_end.is_set():
            return
        batch["status"] = self.ending
        if self.ending == "failed":
            batch["errors"] = {"data": [{"message": "the model takes no batches"}]}
            return
        questions = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        lines = [self.answer(question["custom_id"], question["body"]) for question in questions]
        found = [line for line in lines if line is not None]
        kinds = {
            "output_file_id": [line for line in found if not line["error"]],
            "error_file_id": [line for line in found if line["error"]],
        }
        for field_name, some in kinds.items():
            if some:
                batch[field_name] = f"file-{len(self.files)}"
                # a batch has its answers in any order
                self.files[batch[field_name]] = b"".join(json.dumps(line).encode() + b"\n" for line in reversed(some))
        completed, errors = map(len, kinds.values())
        batch["request_counts"] = {"total": len(questions), "completed": completed, "failed": errors}


@contextmanager
def batch_cloud(**settings: Any) -> Iterator[BatchCloud]:
    cloud = BatchCloud(**settings)
    with http_serving(cloud.serve) as url:
        cloud.base_url = f"{url}/v1"
        yield cloud
