"""The Helm chart: its values, and manifests that Kubernetes accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import pytest
import yaml

from docs.generate.helm_chart import CHART, ChartRefused, rendered_chart
from docs.generate.manifests import KUBERNETES, MANIFESTS, manifests
from tests.support.deploy.manifest_schemas import violations
from tests.support.deploy.manifests import documents, manifests_of
from tests.support.text.documents import page

VALUES = (CHART / "values.yaml").read_text(encoding="utf-8")
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
TEMPLATES = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
EVERYTHING: dict[str, Any] = {
    "model": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "modelsClaim": "models",
    "config": "[gateway]\npublic_metrics = true\n",
    "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}],
    "cloudKeySecret": "cloud",
    "tlsSecret": "certificate",
    "state": {"size": "1Gi", "storageClass": "fast"},
    "nodeSelector": {"kind": "large"},
    "tolerations": [{"key": "large", "operator": "Exists"}],
    "networkPolicy": {"clients": []},
}


@pytest.fixture
def helm() -> None:
    """Helm's engine, where its package has one."""
    pytest.importorskip("helm_python")


@pytest.mark.parametrize("file", MANIFESTS)
def test_the_plain_manifests_are_what_the_chart_renders(helm: None, file: str) -> None:
    assert (KUBERNETES / file).read_text(encoding="utf-8") == manifests(MANIFESTS[file]), "run make manifests"


@pytest.mark.parametrize("file", MANIFESTS)
def test_the_plain_manifests_fit_their_schemas(file: str) -> None:
    assert [found for manifest in manifests_of(file) for found in violations(manifest)] == []


@pytest.mark.parametrize("with_ray", [False, True])
def test_manifests_of_other_values_fit_their_schemas(helm: None, with_ray: bool) -> None:
    rendered = documents(rendered_chart(EVERYTHING | {"ray": {"enabled": with_ray}}))
    kinds = {manifest["kind"] for manifest in rendered}
    assert ("RayCluster" in kinds, "StatefulSet" in kinds) == (with_ray, not with_ray)
    assert [found for manifest in rendered for found in violations(manifest)] == []


@pytest.mark.parametrize(
    "path",
    [
        "spec.rayversion",
        "spec.headGroupSpec.template.spec.containers.0.readinessprobe",
        "spec.workerGroupSpecs.0.maxReplica",
        "spec.workerGroupSpecs.0.rayStartParams.num-cpus",
    ],
)
def test_unknown_fields_and_numbers_for_texts_are_violations(path: str) -> None:
    [cluster] = [json.loads(json.dumps(it)) for it in manifests_of("ray-cluster.yaml") if it["kind"] == "RayCluster"]
    assert list(violations(cluster)) == []
    *folders, name = path.split(".")
    place: Any = cluster
    for folder in folders:
        place = place[int(folder) if folder.isdecimal() else folder]
    place[name] = 1
    assert len(list(violations(cluster))) == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"workerz": 2}, "workerz"),
        ({"workers": "many"}, "workers"),
        ({"workers": "1:16:2"}, "workers"),
        ({"apiKeysSecret": ""}, "apiKeysSecret"),
        ({"ray": {"enabled": True, "minPods": 5}}, "ray.minPods is above ray.maxPods"),
        ({"ray": {"enabled": True}, "threads": 8}, "ray.cpusPerPod is below threads"),
    ],
)
def test_wrong_values_are_refused(helm: None, values: Mapping[str, object], words: str) -> None:
    with pytest.raises(ChartRefused, match=re.escape(words)):
        rendered_chart(values)


def leaves(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The names of values, with dots; the content of free tables is one value."""
    for name, value in values.items():
        if isinstance(value, dict) and value and above + name not in ("resources",):
            yield from leaves(value, f"{above}{name}.")
        else:
            yield above + name


def in_schema(schema: Mapping[str, Any], name: str) -> bool:
    first, _, rest = name.partition(".")
    properties = schema.get("properties", {})
    return first in properties and (not rest or in_schema(properties[first], rest))


NAMES = list(leaves(yaml.safe_load(VALUES)))


@pytest.mark.parametrize("name", NAMES)
def test_a_value_is_used_and_has_a_type(name: str) -> None:
    assert f".Values.{name} " in TEMPLATES or f".Values.{name})" in TEMPLATES
    assert in_schema(SCHEMA, name)


def test_every_paragraph_of_values_begins_with_a_description() -> None:
    assert [it for it in VALUES.split("\n\n") if not it.startswith("# ")] == []


def test_documented_values_exist() -> None:
    text = page("guide/deployment.md") + page("guide/cluster.md")
    documented = re.findall(r"--set(?:-file|-string)? ([\w.]+)=", text) + re.findall(
        r"`((?:ray|networkPolicy)\.\w+)`", text
    )
    assert len(documented) >= 8
    assert set(documented) <= set(NAMES)


def test_versions_are_those_of_the_project_and_of_its_ray() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == version("cactus-actors")
    assert yaml.safe_load(VALUES)["ray"]["version"] == version("ray")
