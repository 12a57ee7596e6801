# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations and attributes that a given module may hold.

Everything that the frontends and passes leave at the three textual levels is here, and what one
writes by hand in linalg on tensors. What is absent either works on memory (memref, vector, llvm),
has no bound on its time (scf.while), or gives values that nothing defines (ub).
"""

from __future__ import annotations

from xyntra.dialects.aliases import ALIAS, COPIED
from xyntra.dialects.purity import NAMED_OPS
from xyntra.dialects.requires import REQUIRES
from xyntra.dialects.result_sizes import SIZE_OF

__all__ = ["FUNCTION_ATTRIBUTES", "SCALAR_DIALECTS", "VALUE_ATTRIBUTES", "is_known", "is_qualified"]

SCALAR_DIALECTS = frozenset({"arith", "math"})
"""Dialects whose operations all compute scalars from scalars."""

_STRUCTURE = frozenset({"func.func", "func.return", "func.call", "xyntra.fused", "xyntra.yield"})
_TENSORS = frozenset(
    f"tensor.{name}"
    for name in (
        "bitcast cast collapse_shape concat empty expand_shape extract extract_slice from_elements "
        "generate insert insert_slice pad splat yield"
    ).split()
)
_LOOPS = frozenset({"scf.for", "scf.if", "scf.yield"})
_ELEMENTWISE = (
    "abs add ceil copy div div_unsigned erf exp floor log map max min mul negf powf reciprocal "
    "round rsqrt select sqrt square sub tanh broadcast transpose"
)
_CONTRACTIONS = (
    "matmul batch_matmul batch_reduce_matmul batch_matvec batch_vecmat matvec vecmat dot contract"
)
_CONVOLUTIONS = (
    "conv_1d conv_2d conv_3d conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d_nchw_fchw conv_2d_nhwc_hwcf "
    "conv_2d_nhwc_fhwc conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_nhwgc_gfhwc "
    "conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc "
    "depthwise_conv_1d_nwc_wcm depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwc "
    "depthwise_conv_2d_nhwc_hwcm depthwise_conv_3d_ncdhw_cdhw depthwise_conv_3d_ndhwc_dhwc "
    "depthwise_conv_3d_ndhwc_dhwcm"
)
_POOLINGS = (
    "pooling_nchw_max pooling_nchw_sum pooling_ncw_max pooling_ncw_sum pooling_nhwc_max "
    "pooling_nhwc_min pooling_nhwc_sum pooling_nwc_max pooling_nwc_min pooling_nwc_sum "
    "pooling_ndhwc_max pooling_ndhwc_min pooling_ndhwc_sum"
)
_LINALG = frozenset(
    f"linalg.{name}"
    for group in ("generic index yield fill reduce", _ELEMENTWISE, _CONTRACTIONS, _CONVOLUTIONS)
    for name in (*group.split(), *_POOLINGS.split())
)
_OPERATIONS = _STRUCTURE | _TENSORS | _LOOPS | _LINALG | NAMED_OPS

_QUALIFIED = frozenset(
    f"xyntra.{name}"
    for name in (
        "alias at_most_zero best boundaries constant copied cost fallbacks generic_loops inplace "
        "kernel parallel parameters peaks precisions quantization schedule unfused"
    ).split()
) | {"linalg.memoized_indexing_maps"}
FUNCTION_ATTRIBUTES = frozenset(
    {"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"}
    | {f"xyntra.{name}" for name in ("generic_loops", "inplace", "kernel")}
)
"""Attributes of a function: others, such as LLVM's, would change how it is compiled."""
VALUE_ATTRIBUTES = {
    "arg_attrs": frozenset(
        f"xyntra.{name}"
        for name in (
            "constant",
            "dtype",
            "filled",
            "fixed_by",
            "input",
            "magnitude",
            "parameter",
            "rounded",
        )
    ),
    "res_attrs": frozenset({"xyntra.dtype", "xyntra.output", ALIAS, COPIED, REQUIRES, SIZE_OF}),
}
"""Attributes of a function's arguments and results."""


def is_known(name: str) -> bool:
    """Tell whether a module may hold operations called `name`."""
    return name in _OPERATIONS or name.partition(".")[0] in SCALAR_DIALECTS


def is_qualified(name: str) -> bool:
    """Tell whether the attribute `name`, which belongs to a dialect, is one of those known here."""
    return name in _QUALIFIED
