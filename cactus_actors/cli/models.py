"""`cactus models`: what can be served."""

from __future__ import annotations

from pathlib import Path

import typer

from cactus_actors.cli.options import AsJson

FAMILIES = {"llama": "Llama architecture (Llama, SmolLM2, TinyStories and the like)"}
FORMATS = ("a Hugging Face directory with safetensors", "a GGUF file")


def models(as_json: AsJson = False) -> None:
    """List the models that ship with the package and the families that can be loaded.

    Example: cactus models
    """
    from cactus_actors.models.files import list_models, resolve_model

    embedded = {name: resolve_model(name) for name in list_models()}
    if as_json:
        import msgspec

        report = {
            "embedded": [
                {"name": name, "path": str(path), "bytes": _size(path)} for name, path in embedded.items()
            ],
            "families": sorted(FAMILIES),
            "formats": list(FORMATS),
        }
        typer.echo(msgspec.json.encode(report).decode())
        return
    typer.echo("embedded:")
    for name, path in embedded.items():
        typer.echo(f"  {name}  {_size(path) / 1e6:.1f} MB")
    if not embedded:
        typer.echo("  none in this installation")
    typer.echo("families, given with --model PATH:")
    for name, description in FAMILIES.items():
        typer.echo(f"  {name}  {description}")
    typer.echo(f"formats: {', '.join(FORMATS)}")


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir() if file.is_file())
