"""The manifests of deploy/kubernetes, and the parts of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from docs.generate.manifests import KUBERNETES, MANIFESTS

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """A pod that a manifest describes: its labels and its spec, and for a node of Ray the options of `ray start`."""

    file: str
    labels: dict[str, str]
    spec: Manifest
    ray_start: dict[str, str]

    def __str__(self) -> str:
        return f"{self.labels['app.kubernetes.io/component']} of {self.file}"

    @property
    def main(self) -> Manifest:
        """The container that is not for preparation."""
        [container] = self.spec["containers"]
        assert isinstance(container, dict)
        return container

    @property
    def containers(self) -> list[Manifest]:
        return [*self.spec["initContainers"], *self.spec["containers"]]


def documents(text: str) -> list[Manifest]:
    """The manifests in a file."""
    return [document for document in yaml.safe_load_all(text) if document is not None]


@cache
def manifests_of(file: str) -> list[Manifest]:
    """The manifests of a file of deploy/kubernetes."""
    return documents((KUBERNETES / file).read_text(encoding="utf-8"))


def of_kind(file: str, kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests_of(file) if manifest["kind"] == kind]


def pods_of(file: str) -> Iterator[Pod]:
    for manifest in of_kind(file, "StatefulSet"):
        template = manifest["spec"]["template"]
        yield Pod(file, template["metadata"]["labels"], template["spec"], {})
    for manifest in of_kind(file, "RayCluster"):
        for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
            template = group["template"]
            yield Pod(file, template["metadata"]["labels"], template["spec"], group["rayStartParams"])


PODS = [pod for file in MANIFESTS for pod in pods_of(file)]
SERVING = [pod for pod in PODS if pod.labels["app.kubernetes.io/component"] == "service"]
