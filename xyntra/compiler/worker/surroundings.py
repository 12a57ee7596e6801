# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives a process that was forked long before what a new one would take over from its caller."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from dataclasses import asdict, dataclass

__all__ = ["Surroundings", "unchangeable"]

_READ_EARLY = ("PYTHON", "LD_", "DYLD_", "MALLOC_", "GLIBC_", "OPENBLAS_", "OMP_", "MKL_", "ASAN_")
"""Beginnings of variables that the loader, Python or a library reads once, when it starts."""
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)


@dataclass(frozen=True)
class Surroundings:
    """What a process takes over from the one that asks it to compile.

    Attributes:
        folder: the current one; None where it cannot be told.
        environment: the environment variables.
        processors: the numbers of those that it may run on; None where the system does not tell.
        memory_limit: bytes of address space that it may use, or None.
    """

    folder: str | None
    environment: dict[str, str]
    processors: list[int] | None
    memory_limit: int | None

    @classmethod
    def here(cls, memory_limit: int | None = None) -> Surroundings:
        """Those of this process and thread."""
        folder = None
        with contextlib.suppress(OSError):
            folder = os.getcwd()
        processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
        return cls(folder, dict(os.environ), processors, memory_limit)

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Surroundings:
        """The surroundings that `to_bytes` wrote."""
        return cls(**json.loads(data))

    def enter(self) -> None:
        """Make them those of this process, which has no other threads."""
        if self.environment != dict(os.environ):
            os.environ.clear()
            os.environ.update(self.environment)
        with contextlib.suppress(OSError):
            os.chdir(self.folder or "/")
        if self.processors is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self.processors)
        if self.memory_limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (self.memory_limit, self.memory_limit))


def unchangeable() -> tuple[object, ...]:
    """What a process takes over when it is started, and not later: rights, limits and libraries."""
    early = {name: text for name, text in os.environ.items() if name.startswith(_READ_EARLY)}
    rights = os.getresuid(), os.getresgid(), os.getgroups()
    limits = [resource.getrlimit(each) for each in _LIMITS]
    return sys.executable, list(sys.path), early, rights, limits
