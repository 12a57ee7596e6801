# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures the roofs of a roofline on this machine, with kernels of ours for the same target."""

from __future__ import annotations

from dataclasses import replace

from xyntra.config import Config
from xyntra.observe.timing.roofline import Roofs

__all__ = ["measure_roofs"]

_COUNT = 1 << 25
"""Elements of what is copied: 128 MiB, more than caches hold."""
_SIZE = 2048
_COPY = f"""
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<{_COUNT}xf32>) -> tensor<{_COUNT}xf32> {{
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<{_COUNT}xf32>
  %y = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
      ins(%x : tensor<{_COUNT}xf32>) outs(%empty : tensor<{_COUNT}xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %one : f32
    linalg.yield %sum : f32
  }} -> tensor<{_COUNT}xf32>
  return %y : tensor<{_COUNT}xf32>
}}
"""
_PRODUCT = f"""
func.func @main(%a: tensor<{_SIZE}x{_SIZE}xf32>, %b: tensor<{_SIZE}x{_SIZE}xf32>)
    -> tensor<{_SIZE}x{_SIZE}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{_SIZE}x{_SIZE}xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<{_SIZE}x{_SIZE}xf32>)
      -> tensor<{_SIZE}x{_SIZE}xf32>
  %y = linalg.matmul ins(%a, %b : tensor<{_SIZE}x{_SIZE}xf32>, tensor<{_SIZE}x{_SIZE}xf32>)
      outs(%fill : tensor<{_SIZE}x{_SIZE}xf32>) -> tensor<{_SIZE}x{_SIZE}xf32>
  return %y : tensor<{_SIZE}x{_SIZE}xf32>
}}
"""
_TIMES = 5


def measure_roofs(settings: Config) -> Roofs:
    """Return how fast a kernel that only moves moves, and one that mostly computes computes.

    The second is a product of matrices of f32 in the precision of the settings.

    Raises:
        XyntraError: the target is not there.
    """
    settings = replace(settings, io="model", trace=None)
    moved = 2 * 4 * _COUNT / _fastest(_COPY, settings)
    computed = 2 * _SIZE**3 / _fastest(_PRODUCT, settings)
    return Roofs(moved, computed)


def _fastest(text: str, settings: Config) -> int:
    """Return the nanoseconds that a module's kernels take at best."""
    import xyntra
    from xyntra.tools.commands.inputs import random_inputs

    executable = xyntra.compile(text, config=settings)
    feeds = random_inputs(executable.inputs, seed=0)
    return min(max(1, sum(executable.time_kernels(feeds))) for _ in range(_TIMES))
