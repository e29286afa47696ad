"""The Helm chart as plain manifests, for `kubectl apply`; `make manifests` runs this program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from docs.generate.helm_chart import rendered_chart

KUBERNETES = Path(__file__).parents[2] / "deploy" / "kubernetes"
MANIFESTS: dict[str, Mapping[str, object]] = {
    "one-pod.yaml": {},
    "ray-cluster.yaml": {"ray": {"enabled": True}, "workers": "1:16"},
}
"""The files of deploy/kubernetes, and the values of the chart that give each of them."""

_HEAD = "# Written by `make manifests` from the chart in deploy/helm/cactus; change the chart or its values.\n"


def manifests(values: Mapping[str, object]) -> str:
    """The text of a file of manifests."""
    return _HEAD + rendered_chart(values)


def main() -> None:
    """Write every file."""
    for name, values in MANIFESTS.items():
        (KUBERNETES / name).write_text(manifests(values), encoding="utf-8")
        print(f"deploy/kubernetes/{name}")


if __name__ == "__main__":
    main()
