# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names the operators, by the names that PyTorch's samples have them under.

Chosen by hand before any was run: what models of the usual libraries call, with what their losses
and the code around them need. Left out are operators whose results are not determined (`empty`),
aliases of others, and complex, sparse and quantized tensors.
"""

from __future__ import annotations

__all__ = ["GROUPS"]

GROUPS: dict[str, tuple[str, ...]] = {
    "elementwise": tuple(
        "abs add addcdiv addcmul atan2 bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp"
        " clamp_max clamp_min copysign cos div eq erf exp exp2 expm1 float_power floor floor_divide"
        " fmod ge gt isfinite isinf isnan le lerp log log10 log1p log2 logaddexp logical_and"
        " logical_not logical_or logical_xor logit lt maximum minimum mul nan_to_num ne neg pow"
        " reciprocal remainder round rsqrt rsub sigmoid sign sin sinc sqrt square sub tan tanh"
        " true_divide trunc where xlogy".split()
    ),
    "activations": tuple(
        f"nn.functional.{name}"
        for name in "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu"
        " logsigmoid mish prelu relu relu6 selu silu softplus softsign threshold".split()
    ),
    "reductions": tuple(
        "all amax amin any argmax argmin count_nonzero cummax cumprod cumsum linalg.norm"
        " linalg.vector_norm log_softmax logcumsumexp logsumexp max mean min norm prod softmax std"
        " std_mean sum var var_mean argsort sort topk".split()
    ),
    "products": (
        *"addbmm addmm baddbmm bmm einsum inner matmul mm mv outer tensordot cdist".split(),
        "nn.functional.bilinear",
        "nn.functional.linear",
        "nn.functional.scaled_dot_product_attention",
    ),
    "shapes": tuple(
        "broadcast_to cat chunk clone constant_pad_nd contiguous diag_embed diagonal expand"
        " expand_as flatten flip hstack meshgrid movedim narrow permute ravel repeat"
        " repeat_interleave reshape roll select slice split split_with_sizes squeeze stack"
        " tensor_split tile transpose tril triu unbind unflatten unfold unsqueeze view".split()
    ),
    "indexing": tuple(
        "__getitem__ gather index_add index_copy index_fill index_put index_select masked_fill"
        " masked_scatter masked_select nonzero scatter scatter_add scatter_reduce searchsorted"
        " select_scatter slice_scatter take_along_dim".split()
    ),
    "making and casting": tuple(
        "arange bernoulli bool float full_like linspace long new_zeros ones_like randn_like to"
        " zeros_like".split()
    ),
    "layers": tuple(
        f"nn.functional.{name}"
        for name in "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d avg_pool1d"
        " avg_pool2d batch_norm conv1d conv2d conv3d conv_transpose1d conv_transpose2d"
        " cosine_similarity dropout embedding grid_sample group_norm instance_norm interpolate"
        " layer_norm max_pool1d max_pool2d normalize one_hot pad pixel_shuffle pixel_unshuffle"
        " rms_norm unfold".split()
    ),
    "losses": tuple(
        f"nn.functional.{name}"
        for name in "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy"
        " huber_loss kl_div l1_loss mse_loss nll_loss smooth_l1_loss".split()
    ),
}
"""The names by kind."""
