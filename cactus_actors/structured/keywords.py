"""The keywords of JSON schemas that are not enforced, and the values of enforced ones."""

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
"""They do not constrain instances, or hold definitions for references."""

REFUSED = frozenset(
    {
        *("$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "$vocabulary"),
        *("contains", "maxContains", "minContains", "contentSchema", "uniqueItems"),
        *("dependencies", "dependentRequired", "dependentSchemas", "propertyNames"),
        *("else", "if", "not", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Known keywords that a grammar cannot express."""

VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose values are instances, not schemas."""

UNWRITABLE = re.compile(r"[\x00-\x07\x0b\x0e-\x1f\x7f]")
"""Characters that have no spelling in a generated string."""
