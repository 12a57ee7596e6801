# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the target of a setting or of a saved model, and loads artifacts there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xyntra.errors import ArchiveError
from xyntra.targets.base import Backend, WrongMachine
from xyntra.targets.program import Program
from xyntra.targets.table import backend_for, backend_named, backend_of

if TYPE_CHECKING:
    import numpy as np

    from xyntra.plan.artifact import Artifact

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CodeTarget:
    """The device that code runs on.

    Attributes:
        architecture: of the GPU that code is generated for; "" for the processor of this process.
        ordinal: the GPU that runs it.
    """

    architecture: str = ""
    ordinal: int = 0

    @classmethod
    def of(cls, target: str) -> CodeTarget:
        """Read a setting: "auto", "cpu", "cuda", "cuda:1" or "cuda:sm_90a".

        Raises:
            UnsupportedError: there is no such target.
            DeviceError: the GPU that is meant does not exist.
        """
        return cls(*backend_named(target).locate(target))

    @property
    def backend(self) -> Backend:
        """Return what generates the code, and loads it."""
        return backend_for(self.architecture)

    @property
    def name(self) -> str:
        """Return what `xyntra.load` calls it."""
        return self.backend.device_name(self.ordinal)

    @property
    def code_key(self) -> str:
        """Return what generates the code, and for what, as one line for cache keys."""
        return self.backend.code_key(self.architecture)

    @property
    def machine_key(self) -> str:
        """Return what a machine must have to run the code, as one line."""
        return self.backend.machine_key(self.architecture)

    def prepare(self, threads: int | None = None) -> None:
        """Load what `program` needs whatever the artifact: while that is being compiled."""
        from xyntra import executable  # noqa: F401  (most of all numpy)

        self.backend.prepare(threads)

    def program(
        self, artifact: Artifact, weights: Mapping[str, Array], threads: int | None = None
    ) -> Program:
        """Load an artifact; a GPU is not touched before the first run.

        Args:
            artifact: what to run.
            weights: the plan's parameters by name.
            threads: how many threads of the processor work on one call; None means one a core.

        Raises:
            CompileError: the code is damaged, or a weight is missing.
        """
        return self.backend.program(artifact, weights, self.ordinal, threads)


def target_of(artifact: Artifact, place: str, wanted: str = "auto") -> CodeTarget:
    """Return where a saved artifact runs.

    Args:
        artifact: the compiled model.
        place: its file, for errors.
        wanted: "auto" for what it was compiled for, or a target, such as "cuda:1".

    Raises:
        ArchiveError: it is for another machine, or for another kind of device than is wanted.
        UnsupportedError: there is no such target.
    """
    backend = backend_of(artifact.target)
    if wanted != "auto" and backend_named(wanted) is not backend:
        raise _wrong_target(artifact, place, f"{wanted} was asked for")
    try:
        return CodeTarget(*backend.locate_saved(artifact.target, wanted))
    except WrongMachine as error:
        raise _wrong_target(artifact, place, str(error)) from None


def _wrong_target(artifact: Artifact, place: str, instead: str) -> ArchiveError:
    return ArchiveError(
        "archive-target",
        "the saved model was compiled for another machine",
        place=place,
        cause=f"it was compiled for {artifact.target}\n{instead}",
        hint="compile the model for this target",
    )
