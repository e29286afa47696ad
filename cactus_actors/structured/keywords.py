"""The keywords of JSON schemas that are not enforced, and the words that enforced ones take."""

from __future__ import annotations

import re

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
FORMATS = ("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid")

ANNOTATIONS = frozenset(
    {
        *("$anchor", "$comment", "$defs", "$schema", "definitions"),
        *("contentEncoding", "contentMediaType", "default", "deprecated", "description"),
        *("examples", "readOnly", "title", "writeOnly"),
    }
)
"""They say nothing about instances, or hold what others refer to."""

REFUSED = frozenset(
    {
        *("$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "$vocabulary"),
        *("contains", "maxContains", "minContains", "contentSchema", "uniqueItems"),
        *("dependencies", "dependentRequired", "dependentSchemas", "propertyNames"),
        *("else", "if", "not", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Known, and beyond what a grammar can say."""

VALUES = frozenset({"const", "default", "enum", "examples"})
"""Their values are instances: nothing in them is a schema."""

UNWRITABLE = re.compile(r"[\x00-\x07\x0b\x0e-\x1f\x7f]")
"""Characters that have no spelling in a generated string."""
