"""Requests are prepared outside the router's loop: no template and no schema holds up anybody's tokens."""

from cactus_actors.router.preparing.lanes import Outcome, PreparingLanes
from cactus_actors.router.preparing.preparer import Preparer, PreparerHere
from cactus_actors.router.preparing.process import PreparingProcess

__all__ = ["Outcome", "Preparer", "PreparerHere", "PreparingLanes", "PreparingProcess"]
