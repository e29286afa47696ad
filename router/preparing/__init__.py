"""Requests are prepared outside the router's loop: no template and no schema holds up anybody's tokens."""

from router.preparing.process import PreparingProcess
from router.preparing.thread import Outcome, PreparingThread

__all__ = ["Outcome", "PreparingProcess", "PreparingThread"]
