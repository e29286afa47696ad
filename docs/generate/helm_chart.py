"""The Helm chart of the project, rendered by Helm's own engine.

As a program it reads values in JSON and prints the manifests. The engine brings threads and signal handlers of Go,
which do not belong into the caller's process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "cactus"
RELEASE = NAMESPACE = "cactus"


class ChartRefused(Exception):
    """Helm refuses the values or a template; the message is Helm's."""


def rendered_chart(values: Mapping[str, object]) -> str:
    """The manifests of a release named RELEASE, one YAML document each. Raises ChartRefused."""
    done = subprocess.run(
        [sys.executable, "-P", __file__],  # without the package, whose other modules import the product
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ChartRefused(done.stderr.strip())
    return done.stdout


def _render() -> None:
    import helm_python as helm

    findings = helm.lint(str(CHART))["errors"]
    if findings:
        sys.exit("\n".join(map(str, findings)))
    try:
        with helm.Chart.load(str(CHART)) as chart:
            manifests = chart.render(json.load(sys.stdin), name=RELEASE, namespace=NAMESPACE)
    except helm.HelmError as error:
        sys.exit(str(error))
    for template, text in sorted(manifests.items()):
        if text.strip() and not template.endswith(".txt"):
            print(f"---\n{text.strip()}")


if __name__ == "__main__":
    _render()
