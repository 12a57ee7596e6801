# SPDX-License-Identifier: MIT OR Apache-2.0
"""A launch that is ready but for its stream."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from xyntra.targets.cuda.code.kernel_image import ImageLaunch
from xyntra.targets.cuda.driver.direct import Direct
from xyntra.targets.cuda.driver.driver import failure
from xyntra.targets.cuda.driver.launch_config import configured


class PreparedLaunch:
    """A function, its grid, and where its arguments lie; one thread calls it at a time.

    Attributes:
        kernel: its name.
        function: its handle.
        config: its grid, block and attributes.
        arguments: addresses of its arguments.
        programmatic: it may begin before the launch ahead of it has ended.

    Args:
        direct: the driver's functions.
        kernel: for errors.
        function: its handle.
        launch: grid, cluster and shared memory.
        arguments: addresses of the arguments, which stay there as long as this object.
    """

    def __init__(
        self,
        direct: Direct,
        kernel: str,
        function: int,
        launch: ImageLaunch,
        arguments: Sequence[int],
    ) -> None:
        self.kernel = kernel
        self._launch = direct.launch_kernel
        self.function = function
        self.programmatic = launch.programmatic
        self.config = configured(launch)
        self.arguments = (ctypes.c_void_p * max(len(arguments), 1))(*arguments)
        places = ctypes.addressof(self.config), ctypes.addressof(self.arguments)
        self._call = places[0], function, places[1], None

    def __call__(self, stream: int) -> None:
        """Put the launch on a stream."""
        self.config.stream = int(stream)
        status = self._launch(*self._call)
        if status:
            raise failure(status, "launching a kernel", self.kernel)
