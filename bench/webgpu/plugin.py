# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs models with onnxruntime's WebGPU plugin, the package `onnxruntime-ep-webgpu`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["missing", "plugin_session"]

_NAME = "webgpu"
_SOFTWARE = "ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER"
"""The plugin asks it where onnxruntime itself sees no GPU: Vulkan may still have one."""


def missing() -> str | None:
    """Return why the plugin cannot be used; None if it can."""
    try:
        import onnxruntime
        import onnxruntime_ep_webgpu  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed (pip install onnxruntime onnxruntime-ep-webgpu)"
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        return f"onnxruntime {onnxruntime.__version__} takes no plugins"
    return None


def plugin_session(model: Path) -> Any:
    """Return onnxruntime's session of a model, on the adapter that the plugin finds.

    Raises:
        RuntimeError: there is no plugin, or it has no adapter.
    """
    reason = missing()
    if reason is not None:
        raise RuntimeError(reason)
    import onnxruntime
    import onnxruntime_ep_webgpu as plugin

    onnxruntime.set_default_logger_severity(3)
    found = _devices(onnxruntime, plugin)
    if not found:
        raise RuntimeError("the plugin finds no adapter")
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(found[:1], {})
    session = onnxruntime.InferenceSession(str(model), sess_options=options)
    if session.get_providers()[0] == "CPUExecutionProvider":
        raise RuntimeError("onnxruntime left the plugin out")
    return session


def _devices(onnxruntime: Any, plugin: Any) -> list[Any]:
    """Return the plugin's devices: of GPUs that onnxruntime sees, or else of what Vulkan has."""

    def register() -> list[Any]:
        onnxruntime.register_execution_provider_library(_NAME, plugin.get_library_path())
        return mine()

    def mine() -> list[Any]:
        name = plugin.get_ep_name()
        return [each for each in onnxruntime.get_ep_devices() if each.ep_name == name]

    found = mine() or register()
    if not found:
        onnxruntime.unregister_execution_provider_library(_NAME)
        os.environ[_SOFTWARE] = "1"
        found = register()
    return found
