"""Writes the reference pages that follow from the code; `make docs` runs it.

A page is made by one module here: `cli` from the commands, `configuration` from the structs of settings,
`errors` from the tree of errors, `metrics` from the metric families, `model_configs` from the readers of model files,
`python_client` from signatures and docstrings. The modules only format: the texts are in the code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs.generate.cli import cli_page
from docs.generate.configuration import configuration_page
from docs.generate.errors import errors_page
from docs.generate.metrics import metrics_page
from docs.generate.model_configs import model_configs_page
from docs.generate.python_client import python_client_page

REFERENCE = Path(__file__).parents[1] / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "configuration.md": configuration_page,
    "errors.md": errors_page,
    "metrics.md": metrics_page,
    "model-configs.md": model_configs_page,
    "python-client.md": python_client_page,
}
"""Each generated page of docs/reference, and the function that gives its text."""
