# SPDX-License-Identifier: MIT OR Apache-2.0
"""The targets, as far as compiling and loading have to tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xyntra.errors import ArchiveError, UnsupportedError
from xyntra.targets.base import Program
from xyntra.targets.cuda.code.architecture import CudaTarget, is_cuda, parse_target

if TYPE_CHECKING:
    import numpy as np

    from xyntra.plan.artifact import Artifact

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CodeTarget:
    """Where code runs.

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
        if target in ("auto", "cpu"):
            return cls()
        if not is_cuda(target):
            raise UnsupportedError(
                "target-unsupported",
                f"target '{target}' is not supported",
                hint="the targets are auto, cpu and cuda",
            )
        named = parse_target(target)
        if named.architecture:
            return cls(named.architecture, named.ordinal)
        from xyntra.targets.cuda.driver.device import cuda_device

        return cls(cuda_device(named.ordinal).architecture, named.ordinal)

    @property
    def name(self) -> str:
        """What `xyntra.load` calls it."""
        return f"cuda:{self.ordinal}" if self.architecture else "cpu"

    @property
    def code_key(self) -> str:
        """What generates the code, and for what, as one line for cache keys."""
        from xyntra.targets.cpu.codegen import compiler_key, target_key

        return f"{compiler_key()};{self.machine_key}" if self.architecture else target_key()

    @property
    def machine_key(self) -> str:
        """What a machine must have to run the code, as one line."""
        if self.architecture:
            return f"cuda;abi=1;{self.architecture}"
        from xyntra.targets.cpu.codegen import host_key

        return host_key()

    def prepare(self, threads: int | None = None) -> None:
        """Load what `program` needs whatever the artifact: while that is being compiled."""
        from xyntra import executable  # noqa: F401  (most of all numpy)

        if not self.architecture:
            from xyntra.targets.cpu.program import load_native_code

            load_native_code(threads)

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
        if self.architecture:
            from xyntra.targets.cuda.program import CudaProgram

            return CudaProgram(artifact, weights, self.ordinal)
        from xyntra.targets.cpu.program import CpuProgram

        return CpuProgram(artifact, weights, threads)


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
    if artifact.target.startswith("cuda;"):
        architecture = artifact.target.rpartition(";")[2]
        named = parse_target(wanted) if wanted not in ("auto", "cpu") else CudaTarget()
        if wanted == "cpu" or named.architecture not in ("", architecture):
            raise _wrong_target(artifact, place, f"{wanted} was asked for")
        return CodeTarget(architecture, named.ordinal)
    here = CodeTarget()
    if artifact.target != here.machine_key:
        raise _wrong_target(artifact, place, f"this is {here.machine_key}")
    if CodeTarget.of(wanted).architecture:
        raise _wrong_target(artifact, place, f"{wanted} was asked for")
    return here


def _wrong_target(artifact: Artifact, place: str, instead: str) -> ArchiveError:
    return ArchiveError(
        "archive-target",
        "the saved model was compiled for another machine",
        place=place,
        cause=f"it was compiled for {artifact.target}\n{instead}",
        hint="compile the model for this target",
    )
