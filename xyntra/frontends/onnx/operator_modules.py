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
        "elementwise.activation": """
            LeakyRelu PRelu Elu Selu Celu HardSigmoid HardSwish Softplus Softsign Mish
            ThresholdedRelu Gelu Swish SwiGLU Shrink Clip
        """,
        "reductions.arg_extreme": "ArgMax ArgMin Hardmax",
        "elementwise.arithmetic": """
            Add Sum Sub Mul Div Mod Max Min Mean Neg Abs Reciprocal Sign Floor Ceil
            Round Pow BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
        """,
        "nn.attention": "Attention",
        "elementwise.cast": "Cast CastLike BitCast",
        "nn.col2im": "Col2Im MaxUnpool",
        "tensors.constant": "ConstantOfShape Range EyeLike OneHot Trilu",
        "nn.conv": "Conv ConvTranspose",
        "nn.determinant": "Det",
        "elementwise.dropout": "Dropout",
        "nn.einsum": "Einsum",
        "elementwise.simple": "Relu Sigmoid",
        "tensors.gather": "Gather GatherElements GatherND ReverseSequence",
        "nn.grid_sample": "GridSample",
        "tensors.joins": "Concat Split",
        "nn.linear_attention": "LinearAttention",
        "elementwise.logic": """
            Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not Where IsNaN IsInf
        """,
        "nn.matmul": "MatMul Gemm",
        "nn.non_max_suppression": "NonMaxSuppression",
        "nn.norm": """
            BatchNormalization LayerNormalization RMSNormalization
            SimplifiedLayerNormalization InstanceNormalization GroupNormalization
            LpNormalization MeanVarianceNormalization LRN
        """,
        "tensors.pad": "Pad",
        "nn.pool": "MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool",
        "quantized.quantize": "QuantizeLinear DequantizeLinear DynamicQuantizeLinear",
        "quantized.contraction": "MatMulInteger QLinearMatMul ConvInteger QLinearConv",
        "recurrent.recurrent": "RNN LSTM GRU",
        "reductions.reduce": """
            ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2
            ReduceSumSquare ReduceLogSum ReduceLogSumExp
        """,
        "refused": """
            Bernoulli Multinomial RandomNormal
            RandomNormalLike RandomUniform RandomUniformLike
        """,
        "nn.resize": "Upsample Resize",
        "nn.roi_align": "RoiAlign DeformConv",
        "reductions.scan": "CumSum CumProd",
        "tensors.scatter": "ScatterElements Scatter ScatterND TensorScatter",
        "tensors.selection": "NonZero Compress",
        "sequences.optional": "Optional OptionalHasElement OptionalGetElement",
        "sequences.sequence": """
            SequenceEmpty SequenceConstruct SequenceInsert SequenceErase SequenceAt SequenceLength
            ConcatFromSequence SplitToSequence
        """,
        "tensors.shape": """
            Identity Shape Size Reshape Flatten Squeeze Unsqueeze Transpose Expand Tile
            DepthToSpace SpaceToDepth
        """,
        "nn.signal": "HannWindow HammingWindow BlackmanWindow MelWeightMatrix DFT STFT",
        "tensors.slice": "Slice",
        "nn.softmax": "Softmax LogSoftmax",
        "reductions.sort": "TopK",
        "tensors.unique": "Unique",
        "elementwise.transcendental": """
            Sqrt Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf
        """,
    },
    "com.microsoft": {
        "microsoft.gather_quantized": "GatherBlockQuantized",
        "microsoft.group_query_attention": "GroupQueryAttention",
        "microsoft.transformer": """
            Gelu BiasGelu FastGelu QuickGelu FusedMatMul SkipLayerNormalization
            SkipSimplifiedLayerNormalization
        """,
        "microsoft.attention": "Attention QAttention MultiHeadAttention",
        "microsoft.diffusion": "BiasSplitGelu GroupNorm SkipGroupNorm NhwcConv",
        "microsoft.embedding": "EmbedLayerNormalization RotaryEmbedding",
        "microsoft.fused": "FusedGemm FusedConv TransposeMatMul BiasAdd",
        "quantized.quantize": "QuantizeLinear DequantizeLinear",
        "quantized.fused": "MatMulIntegerToFloat DynamicQuantizeMatMul QGemm",
        "quantized.few_bits": "MatMulNBits",
        "quantized.pointwise": """
            QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu QLinearSoftmax
            QLinearAveragePool QLinearGlobalAveragePool QLinearConcat QLinearWhere
        """,
        "quantized.recurrent": "DynamicQuantizeLSTM",
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
