# SPDX-License-Identifier: MIT OR Apache-2.0
"""`recognize-patterns`: puts named ops in the place of mathematics written out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.errors import ConfigError
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.recognize.matching.pattern import Pattern, registered_patterns
from xyntra.passes.recognize.matching.rewrite import replace_all
from xyntra.passes.recognize.matching.search import Index, Search
from xyntra.passes.recognize.pattern_library import load_library, patterns_of_file
from xyntra.passes.registry import register_pass
from xyntra.passes.suggest import did_you_mean

_MOST_ROUNDS = 8
"""How often what was built may become part of a larger match."""


@register_pass
@dataclass(frozen=True)
class RecognizePatterns:
    """Replace gelu, silu, softmax, layer norm and the like, written out, by named ops.

    Patterns are declared in Python: see xyntra.passes.recognize.matching.pattern.
    """

    name: ClassVar[str] = "recognize-patterns"

    only: tuple[str, ...] = ()
    """Names of the patterns to look for; all where none is given."""

    files: tuple[str, ...] = ()
    """Python files that declare more patterns; executed when the pass runs."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`.

        Raises:
            ConfigError: a file cannot be read or executed, or there is no pattern of a name.
            PassFailure: a pattern built something of the wrong type.
        """
        index = Index(self._patterns())
        for block in function_blocks(module):
            built: dict[ir.Operation, str] = {}
            operations: Iterable[ir.Operation] = block.operations
            for _ in range(_MOST_ROUNDS):
                search = Search(index, built)
                found = search.run(operations)
                if not found:
                    break
                operations = replace_all(found, built)

    def _patterns(self) -> list[Pattern]:
        load_library()
        known = {pattern.name: pattern for pattern in registered_patterns()}
        for path in self.files:
            known |= patterns_of_file(path)
        for name in self.only:
            if name not in known:
                raise ConfigError(
                    "unknown-pattern",
                    f"there is no pattern '{name}'",
                    hint=did_you_mean(name, known, f"there are {', '.join(known)}"),
                )
        return [known[name] for name in self.only or known]
