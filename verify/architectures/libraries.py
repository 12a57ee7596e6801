# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports the model libraries, offline and on one thread."""

from __future__ import annotations

import functools
import logging
import os
import warnings

__all__ = ["LIBRARIES", "declare_operators", "import_libraries", "seed"]

LIBRARIES = ("torch", "onnxscript", "transformers", "timm", "torchvision", "diffusers")
_BOXES = "Tensor a, Tensor b, float c"
# What torchvision's Python code registers shapes for, which needs the operators to exist. A build
# of torch that its library of C++ operators does not fit leaves them out.
_OPERATORS = {
    "nms": f"({_BOXES}) -> Tensor",
    "qnms": f"({_BOXES}) -> Tensor",
    **dict.fromkeys(
        (
            "roi_align",
            "_roi_align_backward",
            "roi_pool",
            "_roi_pool_backward",
            "ps_roi_align",
            "_ps_roi_align_backward",
            "ps_roi_pool",
            "_ps_roi_pool_backward",
            "qroi_align",
            "deform_conv2d",
            "_deform_conv2d_backward",
        ),
        "(Tensor a) -> Tensor",
    ),
}
_kept: list[object] = []


@functools.cache
def import_libraries(libraries: tuple[str, ...] = LIBRARIES) -> None:
    """Import torch and what models come from; nothing is downloaded afterwards.

    Raises:
        ImportError: one of `libraries` is missing.
    """
    os.environ |= {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "0",
    }
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    declare_operators()
    for name in libraries:
        __import__(name)
    for name in ("torch.onnx", "torch", "transformers", "diffusers", "timm", "onnxscript"):
        logging.getLogger(name).setLevel(logging.ERROR)


@functools.cache
def declare_operators() -> None:
    """Declare torchvision's operators where its library does not fit the installed torch.

    Its Python code, which timm and transformers import, raises RuntimeError otherwise.
    """
    import torch

    try:
        path = _torchvision_library()
    except ImportError:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    _kept.append(library)
    try:
        torch.ops.load_library(path)
    except (OSError, AttributeError):
        for name, schema in _OPERATORS.items():
            library.define(name + schema)


def seed(number: int) -> None:
    """Seed every generator that building a model may draw from."""
    import random

    import numpy as np
    import torch

    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def _torchvision_library() -> str:
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise ImportError("torchvision is not installed")
    return str(next(iter(Path(spec.origin).parent.glob("_C*.so")), "missing"))
