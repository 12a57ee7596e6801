# SPDX-License-Identifier: MIT OR Apache-2.0
"""The module of every operator's importer, so that a model loads those that it needs.

`handles` refuses an operator that is not listed under its module, and `find_handler` one that is
listed where it is not registered.
"""

from __future__ import annotations

from functools import cache

__all__ = ["operator_modules"]

_OPERATORS: dict[str, dict[str, str]] = {
    "": {
        "activation": """
            LeakyRelu PRelu Elu Selu Celu HardSigmoid HardSwish Softplus Softsign Mish
            ThresholdedRelu Gelu Swish SwiGLU Shrink Clip
        """,
        "arg_extreme": "ArgMax ArgMin Hardmax",
        "arithmetic": """
            Add Sum Sub Mul Div Mod Max Min Mean Neg Abs Reciprocal Sign Floor Ceil
            Round Pow BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
        """,
        "attention": "Attention",
        "cast": "Cast CastLike BitCast",
        "col2im": "Col2Im MaxUnpool",
        "constant": "ConstantOfShape Range EyeLike OneHot Trilu",
        "conv": "Conv ConvTranspose",
        "determinant": "Det",
        "dropout": "Dropout",
        "einsum": "Einsum",
        "elementwise": "Relu Sigmoid",
        "gather": "Gather GatherElements GatherND Compress ReverseSequence",
        "grid_sample": "GridSample",
        "joins": "Concat Split",
        "linear_attention": "LinearAttention",
        "logic": "Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not Where IsNaN IsInf",
        "matmul": "MatMul Gemm",
        "norm": """
            BatchNormalization LayerNormalization RMSNormalization
            SimplifiedLayerNormalization InstanceNormalization GroupNormalization
            LpNormalization MeanVarianceNormalization LRN
        """,
        "pad": "Pad",
        "pool": "MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool",
        "quantize": "QuantizeLinear DequantizeLinear DynamicQuantizeLinear",
        "quantized_contraction": "MatMulInteger QLinearMatMul ConvInteger QLinearConv",
        "recurrent": "RNN LSTM GRU",
        "reduce": """
            ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2
            ReduceSumSquare ReduceLogSum ReduceLogSumExp
        """,
        "refused": """
            NonZero Unique NonMaxSuppression Bernoulli Multinomial RandomNormal
            RandomNormalLike RandomUniform RandomUniformLike
        """,
        "resize": "Upsample Resize",
        "roi_align": "RoiAlign DeformConv",
        "scan": "CumSum CumProd",
        "scatter": "ScatterElements Scatter ScatterND TensorScatter",
        "shape": """
            Identity Shape Size Reshape Flatten Squeeze Unsqueeze Transpose Expand Tile
            DepthToSpace SpaceToDepth
        """,
        "signal": "HannWindow HammingWindow BlackmanWindow MelWeightMatrix DFT STFT",
        "slice": "Slice",
        "softmax": "Softmax LogSoftmax",
        "sort": "TopK",
        "transcendental": """
            Sqrt Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf
        """,
    },
    "com.microsoft": {
        "gather_quantized": "GatherBlockQuantized",
        "group_query_attention": "GroupQueryAttention",
        "microsoft": """
            Gelu BiasGelu FastGelu QuickGelu FusedMatMul SkipLayerNormalization
            SkipSimplifiedLayerNormalization
        """,
        "microsoft_attention": "Attention QAttention MultiHeadAttention",
        "microsoft_diffusion": "BiasSplitGelu GroupNorm SkipGroupNorm NhwcConv",
        "microsoft_embedding": "EmbedLayerNormalization RotaryEmbedding",
        "microsoft_fused": "FusedGemm FusedConv TransposeMatMul BiasAdd",
        "quantize": "QuantizeLinear DequantizeLinear",
        "quantized_fused": "MatMulIntegerToFloat DynamicQuantizeMatMul QGemm MatMulNBits",
        "quantized_pointwise": """
            QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu QLinearSoftmax
            QLinearAveragePool QLinearGlobalAveragePool QLinearConcat QLinearWhere
        """,
        "quantized_recurrent": "DynamicQuantizeLSTM",
    },
}
"""Operators by domain and by module of `xyntra.frontends.onnx.ops`."""


@cache
def operator_modules() -> dict[tuple[str, str], str]:
    """The module of `xyntra.frontends.onnx.ops` that imports each (domain, operator).

    Raises:
        ValueError: an operator is listed twice.
    """
    found: dict[tuple[str, str], str] = {}
    for domain, modules in _OPERATORS.items():
        for module, names in modules.items():
            for name in names.split():
                if (domain, name) in found:
                    raise ValueError(f"operator {domain}::{name} is listed twice")
                found[domain, name] = module
    return found
