"""The two preparers of a router."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cactus_actors.config import RouterSettings
from cactus_actors.router.preparation.loaded_models import LoadedModel
from cactus_actors.router.preparation.preparer import LocalPreparer, Preparer
from cactus_actors.router.preparation.preparer_frames import PreparerModel
from cactus_actors.router.preparation.preparer_process import PreparerProcess


def preparers_of(
    settings: RouterSettings, models: Sequence[LoadedModel], corpus: Path | None
) -> tuple[Preparer, Preparer]:
    """Two child processes with all models; a model without a path exists in this process only and is used here."""
    keeps_pictures = settings.journal_dir is not None
    first, *others = models

    def preparer() -> Preparer:
        if first.path is None:
            return LocalPreparer(first.text, keeps_pictures=keeps_pictures)
        return PreparerProcess(
            PreparerModel(str(first.path), first.routed.overrides, first.name),
            *(PreparerModel(str(it.path), it.routed.overrides, it.name) for it in others),
            cascade=settings.cascade,
            corpus=corpus,
            pictures=settings.pictures,
            keeps_pictures=keeps_pictures,
        )

    return preparer(), preparer()
