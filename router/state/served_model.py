"""A model of the service, as its router was told of it."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.config_models import AdapterSetting, ModelMemory
from cactus_actors.config_scaling import WorkerRange
from cactus_actors.protocol.confidence import NO_FITS, SignalFits
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.router.state.token_logprobs import TokenDecoder


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """The names, the text side and the formats of a model; it does not change while the router runs.

    `name` is that in a service of several models, empty for the only one; `own_name` is that of its files. Requests may
    also use its `aliases`. Workers with another `fingerprint` are refused, as are those with other formats of `weights`
    and `kv_cache`, where these are not empty. `tokens` decodes token ids for log probabilities. Its workers stop
    `unload_after_s` seconds after its last job; one that `begins_unloaded` has none until a job needs it. Their number
    follows the load within `size`, where there is one, unless it `is_size_fixed`: an operator has set it.
    """

    name: str = ""
    own_name: str = ""
    aliases: tuple[str, ...] = ()
    max_context: int = 0
    vocab_size: int = 0
    has_chat_template: bool = True
    fingerprint: str = ""
    weights: str = ""
    kv_cache: str = ""
    adapters: tuple[AdapterSetting, ...] = ()
    desired_workers: int = 1
    size: WorkerRange | None = None
    is_size_fixed: bool = False
    unload_after_s: float | None = None
    begins_unloaded: bool = False
    memory: ModelMemory | None = None
    tokens: TokenDecoder | None = None
    fits: SignalFits = NO_FITS
    prompt_probe: PromptProbe | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that requests may use for it."""
        return (self.name or self.own_name, *self.aliases)
