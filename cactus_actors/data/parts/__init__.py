"""Tables in parts: a folder or a URL prefix of files of a bounded number of rows, each complete or not there."""

from cactus_actors.data.parts.manifest import PartId, PartRecord
from cactus_actors.data.parts.part_answers import answer_part, check_part
from cactus_actors.data.parts.part_rows import PartRows
from cactus_actors.data.parts.parts_plan import PartsPlan, PartsReport
from cactus_actors.data.parts.parts_request import PartsRequest, is_parts_name, parts_request

__all__ = [
    "PartId",
    "PartRecord",
    "PartRows",
    "PartsPlan",
    "PartsReport",
    "PartsRequest",
    "answer_part",
    "check_part",
    "is_parts_name",
    "parts_request",
]
