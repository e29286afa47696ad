"""The two preparers of a router."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.config import RouterSettings
from cactus_actors.router.preparation.preparer import LocalPreparer, Preparer
from cactus_actors.router.preparation.preparer_process import PreparerProcess
from cactus_actors.router.preparation.prompt_model import PromptModel


def preparers_of(
    settings: RouterSettings, model: PromptModel, path: Path | None, corpus: Path | None
) -> tuple[Preparer, Preparer]:
    """Two child processes; a model without a path exists in this process only and is used here."""
    keeps_pictures = settings.journal_dir is not None

    def preparer() -> Preparer:
        if path is None:
            return LocalPreparer(model, keeps_pictures=keeps_pictures)
        return PreparerProcess(
            path,
            corpus,
            overrides=settings.overrides,
            pictures=settings.pictures,
            keeps_pictures=keeps_pictures,
        )

    return preparer(), preparer()
