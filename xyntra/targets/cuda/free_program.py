# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a plan with free dimensions on a GPU: for each combination of sizes the static plan of it.

Those of the sizes used last are kept, with their launches and CUDA graphs. All share code, weights,
what was prepared of these, and an arena that is as large as the largest of them needs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xyntra.errors import UnsupportedError
from xyntra.plan.artifact import Artifact
from xyntra.plan.free.bound_sizes import SizeBinder
from xyntra.plan.plan import numpy_dtype
from xyntra.targets.cuda.calls.pending import Pending
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.cuda.graphs.launches import BoundLaunch
from xyntra.targets.cuda.program import CudaProgram
from xyntra.targets.cuda.sized_images import sized_images
from xyntra.targets.launch_resources import LaunchResources

__all__ = ["FreeCudaProgram"]

Array = np.ndarray[Any, Any]
_KEPT = 32
"""Combinations of sizes whose launches are kept."""


class FreeCudaProgram:
    """Runs a plan with free dimensions on a GPU; the arguments are those of `CudaProgram`."""

    def __init__(self, artifact: Artifact, weights: Mapping[str, Array], ordinal: int) -> None:
        free = artifact.plan.free
        if free is None:
            raise ValueError("no dimension of the plan is free")
        self._artifact, self._free = artifact, free
        self._binder = SizeBinder(artifact.plan)
        self._images = {n: KernelImage.from_bytes(code) for n, code in artifact.objects.items()}
        hints = {each.identifier: each.hint for each in free.symbols}
        usual, _ = sized_images(artifact.plan, free, self._images, hints)
        # Loads every variant: another one may be taken at other sizes.
        self._base = CudaProgram(replace(artifact, plan=usual), weights, ordinal)
        self._kept: OrderedDict[tuple[int, ...], CudaProgram] = OrderedDict()

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> Sequence[Any]:
        """Run the plan once and return its outputs, as `CudaProgram.call` does.

        Raises:
            InputError: as there, or a size is out of its range or contradicts another.
            DeviceError: there is no such GPU, or it failed.
        """
        return self._program(arrays).call(arrays, out)

    def submit(self, arrays: Sequence[Any]) -> Pending:
        """Start a call as `call` does, and return at once."""
        return self._program(arrays).submit(arrays)

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run the plan once and return each step's nanoseconds; the outputs are new arrays."""
        program = self._program(inputs)
        new = [np.empty(port.shape, numpy_dtype(port.dtype)) for port in program.results]
        return program.time_steps(inputs, new)

    def launches(self, addresses: Sequence[int]) -> list[BoundLaunch]:
        """Refuse to give launches away: addresses do not say sizes.

        Raises:
            UnsupportedError: `free-dimension`, always.
        """
        raise UnsupportedError(
            "free-dimension",
            "the launches of a model with free dimensions cannot be used on their own",
            hint="compile it for one size of each dimension",
        )

    def launch_resources(self) -> list[LaunchResources]:
        """Return what every launch of a call with usual sizes occupies of the GPU, in order."""
        return self._base.launch_resources()

    def overlaps(self) -> dict[str, tuple[bool, ...]]:
        """Return, by kernel, which of its launches may begin before the one ahead has ended."""
        return self._base.overlaps()

    def _program(self, arrays: Sequence[Any]) -> CudaProgram:
        # Each operation on the dictionary is atomic: two threads may make one plan twice.
        sizes = self._binder.sizes(arrays)
        found = self._kept.get(sizes)
        if found is None:
            named = dict(zip((each.identifier for each in self._free.symbols), sizes, strict=True))
            plan, images = sized_images(self._artifact.plan, self._free, self._images, named)
            found = self._base.sized(plan, images)
        self._kept.pop(sizes, None)
        self._kept[sizes] = found  # now the one used last
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
