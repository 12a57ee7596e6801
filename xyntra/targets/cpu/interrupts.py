# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets SIGINT end a long call between two kernels, or two chunks of a parallel loop.

Python notes a signal in a handler of its own, and acts when native code has returned. During a call
in the main thread another handler comes before Python's: it sets a flag that native code looks at.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from functools import lru_cache
from typing import Any

from xyntra.targets.cpu.loader import ObjectLibrary

__all__ = ["FLAG", "THREAD", "Interrupts", "interrupts", "is_supported"]

THREAD, FLAG, _PREVIOUS = 0, 8, 16
"""Byte offsets in the state: the thread whose call may be ended (pthread_t, or 0), whether it is to
end (i32), and the handler that comes next."""
_STATE_BYTES = 64
_DEFAULT_HANDLERS = (None, 0, 1)  # SIG_DFL and SIG_IGN

_HANDLER = """
define void @xyntra.interrupted(i32 %signal, ptr %information, ptr %context) nounwind {{
  %state = inttoptr i64 {state} to ptr
  %flag = getelementptr i8, ptr %state, i64 {flag}
  store atomic i32 1, ptr %flag monotonic, align 4
  %slot = getelementptr i8, ptr %state, i64 {previous}
  %next = load ptr, ptr %slot
  call void %next(i32 %signal, ptr %information, ptr %context)
  ret void
}}
"""


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux's C libraries on 64-bit machines."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Interrupts:
    """The state that native code looks at; there is one in a process.

    Attributes:
        address: of the state.
    """

    def __init__(self) -> None:
        self._memory = (ctypes.c_int64 * (_STATE_BYTES // 8))()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._memory))  # threads look at it to the end
        self.address = ctypes.addressof(self._memory)
        self._flag = ctypes.c_int32.from_address(self.address + FLAG)
        self._thread = ctypes.c_int64.from_address(self.address + THREAD)
        self._previous = ctypes.c_void_p.from_address(self.address + _PREVIOUS)
        self._before = _Action()

    def arm(self) -> bool:
        """Begin to set the flag on SIGINT; False where this thread does not get that signal."""
        if threading.current_thread() is not threading.main_thread() or self._thread.value:
            return False
        if _sigaction(None, self._before) or self._before.handler in _DEFAULT_HANDLERS:
            return False
        self._flag.value = 0
        self._previous.value = self._before.handler
        action = _Action.from_buffer_copy(self._before)
        action.handler = _handler(self.address)
        self._thread.value = threading.get_ident()  # on Linux that is pthread_self()
        _sigaction(action, None)
        return True

    def disarm(self) -> bool:
        """Leave the signal to whom it belonged; tell whether it came."""
        _sigaction(self._before, None)
        self._thread.value = 0
        return bool(self._flag.value)


def is_supported() -> bool:
    """Tell whether the layouts that this module relies on are those of this system."""
    return sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8


@lru_cache(maxsize=1)
def interrupts() -> Interrupts:
    """The state of this process."""
    return Interrupts()


def _sigaction(new: _Action | None, old: _Action | None) -> int:
    library: Any = ctypes.CDLL(None)
    given = [ctypes.byref(each) if each is not None else None for each in (new, old)]
    return int(library.sigaction(int(signal.SIGINT), *given))


@lru_cache(maxsize=1)
def _library(state: int) -> ObjectLibrary:
    from xyntra.targets.cpu.codegen import compile_object

    source = _HANDLER.format(state=state, flag=FLAG, previous=_PREVIOUS)
    library = ObjectLibrary({"xyntra.interrupted": compile_object(source, opt_level=0)})
    library.keep_for_ever()
    return library


@lru_cache(maxsize=1)
def _handler(state: int) -> int:
    return _library(state).address("xyntra.interrupted")
