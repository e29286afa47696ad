"""Kubernetes' own schemas for manifests, and one for KubeRay's RayCluster, written from its API reference."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
from kubernetes_validate.utils import schema_contents
from referencing import Registry, Resource

VERSION = "1.34"
_FOLDER = f"kubernetes-json-schema/v{VERSION}.0-local-strict"


def violations(manifest: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a manifest; fields that the schema does not have are violations."""
    if manifest["kind"] == "RayCluster":
        for error in _ray_cluster_validator().iter_errors(manifest):
            yield f"{'.'.join(map(str, error.path))}: {error.message}"
        return
    try:
        kubernetes_validate.validate(manifest, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        yield f"{'.'.join(map(str, error.path))}: {error.message}"


@cache
def _ray_cluster_validator() -> Any:
    definitions = Resource.from_contents(schema_contents(f"{_FOLDER}/_definitions.json", VERSION))
    schema = json.loads((Path(__file__).parent / "ray_cluster.schema.json").read_text())
    return jsonschema.Draft202012Validator(schema, registry=definitions @ Registry())
