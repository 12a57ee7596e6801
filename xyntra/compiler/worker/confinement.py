# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes from a process what reading an untrusted file does not need.

Linux's Landlock (since 5.13) denies it to write, create, remove and execute files, and to reach the
network; what is open already stays. Older systems, and others, have the limits alone.
"""

from __future__ import annotations

import ctypes
import sys

__all__ = ["confine", "limit"]

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_FLAG = 1
_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS, linux/prctl.h
_READ = 0b1100
"""Reading files and folders, which stays allowed: Python loads its modules when it needs them."""
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version knows: linux/landlock.h."""
_NETWORK = 0b11
_SCOPES = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


def confine() -> bool:
    """Deny this thread, and those that it starts, to change files and to reach the network.

    Returns:
        Whether the system can do that.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return False
    rights = _RIGHTS.get(version, _RIGHTS[max(_RIGHTS)])
    ruleset = _Ruleset(
        ((1 << rights) - 1) & ~_READ, _NETWORK if version > 3 else 0, _SCOPES if version > 5 else 0
    )
    size = ctypes.c_size_t(8 if version < 4 else 16 if version < 6 else 24)
    handle = library.syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    if handle < 0:
        return False
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(library.syscall(_RESTRICT_SELF, handle, 0) == 0)


def limit(memory: int, seconds: float) -> None:
    """Limit the address space and the processor time of this process; nothing dumps its memory."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    processor = max(1, int(seconds)) * 64
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
