# SPDX-License-Identifier: MIT OR Apache-2.0
"""The functions of NVIDIA's driver that every call of a model needs, without conversions.

The bindings wrap each handle and status in an object, which takes longer than a short function of
the driver itself. Handles are integers here, as the bindings accept them, too.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import lru_cache

from xyntra.targets.cuda.driver.driver import driver, failure

_Function = Callable[..., int]
_POINTER, _BYTES, _FLAGS = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
_SIGNATURES = {
    "cuCtxGetCurrent": (_POINTER,),
    "cuCtxPushCurrent_v2": (_POINTER,),
    "cuCtxPopCurrent_v2": (_POINTER,),
    "cuEventQuery": (_POINTER,),
    "cuEventRecord": (_POINTER, _POINTER),
    "cuEventSynchronize": (_POINTER,),
    "cuGraphLaunch": (_POINTER, _POINTER),
    "cuLaunchKernelEx": (_POINTER, _POINTER, _POINTER, _POINTER),
    "cuMemcpyDtoDAsync_v2": (_POINTER, _POINTER, _BYTES, _POINTER),
    "cuMemcpyDtoHAsync_v2": (_POINTER, _POINTER, _BYTES, _POINTER),
    "cuMemcpyHtoDAsync_v2": (_POINTER, _POINTER, _BYTES, _POINTER),
    "cuStreamWaitEvent": (_POINTER, _POINTER, _FLAGS),
}
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_NOT_READY = 600


class Direct:
    """The driver's functions by what they do; statuses become errors.

    Attributes:
        launch_kernel: cuLaunchKernelEx itself, which returns a status. It takes the addresses of a
            `LaunchConfig`, a function's handle, the address of its arguments' addresses, and None.
    """

    def __init__(self) -> None:
        driver()  # initialises it, or says what is missing
        library = ctypes.CDLL(LIBRARY)
        found: dict[str, _Function] = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
            found[name] = function
        self._current = threading.local()  # where a thread is told its context
        self._get_context = found["cuCtxGetCurrent"]
        self._push = found["cuCtxPushCurrent_v2"]
        self._pop = found["cuCtxPopCurrent_v2"]
        self._query = found["cuEventQuery"]
        self._record = found["cuEventRecord"]
        self._synchronize = found["cuEventSynchronize"]
        self._launch_graph = found["cuGraphLaunch"]
        self.launch_kernel = found["cuLaunchKernelEx"]
        self._between = found["cuMemcpyDtoDAsync_v2"]
        self._to_host = found["cuMemcpyDtoHAsync_v2"]
        self._to_device = found["cuMemcpyHtoDAsync_v2"]
        self._wait = found["cuStreamWaitEvent"]

    def addresses(self) -> dict[str, int]:
        """Return where those functions begin that native code calls, by what they do."""
        functions = {
            "get_context": self._get_context,
            "push_context": self._push,
            "pop_context": self._pop,
            "launch": self._launch_graph,
            "record": self._record,
            "wait": self._wait,
        }
        return {
            name: ctypes.cast(each, _POINTER).value or 0  # type: ignore[arg-type]
            for name, each in functions.items()
        }

    def enter(self, context: int) -> bool:
        """Make a context current in this thread; False where it is so already."""
        try:
            current, address = self._current.place
        except AttributeError:
            current = _POINTER()
            address = ctypes.addressof(current)
            self._current.place = current, address
        status = self._get_context(address)
        if not status and current.value == context:
            return False
        status = status or self._push(context)
        if status:
            raise failure(status, "entering a GPU's context")
        return True

    def leave(self) -> None:
        """Undo an `enter` that returned True."""
        self._pop(ctypes.byref(_POINTER()))

    def launch_graph(self, graph: int, stream: int) -> None:
        """Put a CUDA graph on a stream."""
        status = self._launch_graph(graph, stream)
        if status:
            raise failure(status, "replaying launches")

    def record(self, event: int, stream: int) -> None:
        """Let an event stand for everything that is on a stream now."""
        status = self._record(event, stream)
        if status:
            raise failure(status, "recording an event")

    def synchronize(self, event: int, what: str, place: str | None = None) -> None:
        """Wait for an event; other threads of Python run meanwhile."""
        status = self._synchronize(event)
        if status:
            raise failure(status, what, place)

    def is_done(self, event: int, what: str, place: str | None = None) -> bool:
        """Tell whether what an event stands for has finished."""
        status = self._query(event)
        if status in (0, _NOT_READY):
            return not status
        raise failure(status, what, place)

    def wait(self, stream: int, event: int) -> None:
        """Let what comes next on a stream wait for an event."""
        status = self._wait(stream, event, 0)
        if status:
            raise failure(status, "ordering two streams")

    def to_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy from the memory of the host."""
        status = self._to_device(target, source, nbytes, stream)
        if status:
            raise failure(status, "copying to the GPU")

    def to_host(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy to the memory of the host."""
        status = self._to_host(target, source, nbytes, stream)
        if status:
            raise failure(status, "copying from the GPU")

    def between(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy from one place of a GPU to another."""
        status = self._between(target, source, nbytes, stream)
        if status:
            raise failure(status, "copying on the GPU")


@lru_cache(maxsize=1)
def direct() -> Direct:
    """Return the functions of this process.

    Raises:
        MissingExtraError: the bindings are not installed.
        DeviceError: this machine has no driver or no GPU.
    """
    return Direct()
