"""A local fake of the Hugging Face hub: the few endpoints that downloads of models need."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from tests.support.http.serving import Request, http_serving

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TAGGED_COMMIT = "89abcdef0123456789abcdef0123456789abcdef"


class FakeHub:
    """Serves `repositories`: name -> file -> content; `gated` ones only with the token."""

    token = "hf_of_the_test"

    def __init__(self, repositories: dict[str, dict[str, bytes]], gated: frozenset[str] = frozenset()) -> None:
        self.repositories = repositories
        self.gated = gated
        self.fails_with: int | None = None
        self.asked: list[str] = []
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator[FakeHub]:
        with http_serving(self.answer) as self.url:
            yield self

    @property
    def downloaded(self) -> list[str]:
        """The files whose content was requested, sorted by name."""
        return sorted(path.split("/resolve/")[1].split("/", 1)[1] for path in self.asked if "/resolve/" in path)

    def answer(self, request: Request) -> None:
        with_body = request.command == "GET"
        path = unquote(urlsplit(request.path).path)
        if with_body:
            self.asked.append(path)
        status, headers, body = self._response(path, request.headers.get("Authorization", ""))
        request.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            request.send_header(name, value)
        request.end_headers()
        if with_body:
            request.wfile.write(body)

    def _response(self, path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        if self.fails_with is not None:
            return self.fails_with, {}, b"out of order"
        match = re.fullmatch(r"/(?:api/models/)?([^/]+/[^/]+)(?:/(revision|tree|resolve)/([^/]+)(?:/(.*))?)?", path)
        if match is None or match[1] not in self.repositories:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        repository, what, revision, name = match.groups()
        commits = {"main": COMMIT, COMMIT: COMMIT, "v1": TAGGED_COMMIT, TAGGED_COMMIT: TAGGED_COMMIT}
        commit = commits.get(revision or "main")
        if commit is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
        files = self.repositories[repository]
        if what == "resolve":
            return self._file(repository, commit, name, authorization)
        if what == "tree":
            entries = [
                {"type": "file", "path": file, "size": len(content), "oid": _etag(content)}
                for file, content in files.items()
            ]
            return 200, {}, json.dumps(entries).encode()
        about = {"id": repository, "sha": commit, "siblings": [{"rfilename": file} for file in files]}
        return 200, {}, json.dumps(about).encode()

    def _file(self, repository: str, commit: str, name: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        if repository in self.gated and authorization != f"Bearer {self.token}":
            return 401, {"X-Error-Code": "GatedRepo", "X-Repo-Commit": commit}, b"{}"
        content = self.repositories[repository].get(name)
        if content is None:
            return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, b"{}"
        return 200, {"X-Repo-Commit": commit, "ETag": f'"{_etag(content)}"'}, content


def _etag(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()
