# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.attention` on arrays, and what it should give in float64."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import ml_dtypes  # noqa: F401  (numpy learns bfloat16)
import numpy as np

from xyntra.dialects import make_context
from xyntra.dialects.attention import Access, Attention, MaskedRows
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype, mlir_type
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Position, parse_map
from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions, lower_kernel
from xyntra.passes.manager import run_pipeline
from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.threads.pool import team

Array = np.ndarray
LOOPS = "b, h, s, t, d, e"
_ALIGNMENT = 64  # bytes, of scratch memory
_GARBAGE = 0xA5


@dataclass(frozen=True)
class Case:
    """One operation: its sizes, attributes, and the shape and map of every operand and the result.

    `keep` and `bias` are None where they are absent.
    """

    sizes: tuple[int, int, int, int, int, int]
    query: tuple[tuple[int, ...], str]
    key: tuple[tuple[int, ...], str]
    value: tuple[tuple[int, ...], str]
    result: tuple[tuple[int, ...], str]
    keep: tuple[tuple[int, ...], str] | None = None
    bias: tuple[tuple[int, ...], str] | None = None
    scale: float = 0.25
    causal_offset: int | None = None
    fill: float = float("-inf")
    masked_rows: MaskedRows = "nan"
    fill_last: bool = False
    dtype: str = "float32"

    @property
    def operands(self) -> list[tuple[tuple[int, ...], str]]:
        """Shapes and maps of what is there."""
        given = (self.query, self.key, self.value, self.keep, self.bias)
        return [each for each in given if each is not None]

    def random(self, seed: int) -> list[Array]:
        """Operands: normal numbers, and a mask that keeps three keys of four."""
        source = np.random.default_rng(seed)
        arrays = [source.standard_normal(shape).astype(self.dtype) for shape, _ in self.operands]
        if self.keep is not None:
            arrays[3] = source.random(self.keep[0]) < 0.75
        return arrays


def heads_first(b: int, h: int, s: int, t: int, d: int, e: int, **others: object) -> Case:
    """A case with operands [b, h, positions, size]."""
    return Case(
        (b, h, s, t, d, e),
        ((b, h, s, d), "b, h, s, d"),
        ((b, h, t, d), "b, h, t, d"),
        ((b, h, t, e), "b, h, t, e"),
        ((b, h, s, e), "b, h, s, e"),
        **others,  # type: ignore[arg-type]
    )


@lru_cache(maxsize=1)
def context() -> ir.Context:
    """One context for all cases."""
    return make_context()


def kernel(case: Case) -> ir.Module:
    """A module whose `main` holds the operation of `case`."""
    with context(), ir.Location.unknown():
        types = [ir.RankedTensorType.get(shape, _element(case, i)) for i, shape in _shapes(case)]
        result = ir.RankedTensorType.get(case.result[0], mlir_type(case.dtype, context()))
        module = ir.Module.create()
        signature = ir.FunctionType.get(types, [result])
        attributes = {
            "sym_name": ir.StringAttr.get("main"),
            "function_type": ir.TypeAttr.get(signature),
        }
        ip = ir.InsertionPoint(module.body)
        function = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=ip)
        unknown = ir.Location.unknown()
        block = function.regions[0].blocks.append(*types, arg_locs=[unknown] * len(types))
        ip = ir.InsertionPoint(block)
        op = _attention(case, list(block.arguments)).create(case.result[0], unknown, ip)
        ir.Operation.create("func.return", operands=list(op.results), ip=ip)
        assert module.operation.verify()
    return module


def _shapes(case: Case) -> list[tuple[int, tuple[int, ...]]]:
    return [(i, shape) for i, (shape, _) in enumerate(case.operands)]


def _element(case: Case, operand: int) -> ir.Type:
    is_mask = operand == 3 and case.keep is not None
    return mlir_type("bool" if is_mask else case.dtype, context())


def parse_positions(text: str, sizes: Sequence[int]) -> tuple[Position, ...]:
    """The results of a map over the loops, as in `b, s, h * 4 + d`."""
    found = parse_map(ir.AffineMapAttr.parse(f"affine_map<({LOOPS}) -> ({text})>").value, sizes)
    assert found is not None
    return found


def _attention(case: Case, values: list[ir.Value]) -> Attention:
    accesses = iter(
        Access(value, parse_positions(text, case.sizes))
        for value, (_, text) in zip(values, case.operands, strict=True)
    )
    query, key, value = (next(accesses) for _ in range(3))
    keep = next(accesses) if case.keep else None
    bias = next(accesses) if case.bias else None
    written = parse_positions(case.result[1], case.sizes)
    return Attention(
        query, key, value, keep, bias, written, case.sizes, case.scale,
        case.causal_offset, case.fill, case.masked_rows, case.fill_last,
    )  # fmt: skip


def run(
    case: Case, arrays: list[Array], pipeline: str = "", options: LoweringOptions | None = None
) -> Array:
    """What a kernel that holds the operation computes; `pipeline` runs on it first."""
    module = kernel(case)
    with context():
        if pipeline:
            run_pipeline(module, pipeline)
        lowered = lower_kernel(module, options)
    result = np.full(case.result[0], 77, case.dtype)
    _call(lowered, [*arrays, result])
    return result


def _call(kernel: LoweredKernel, arrays: list[Array]) -> None:
    """Run a kernel on inputs and outputs, with memory around its scratch that must stay as is."""
    library = ObjectLibrary({"main": compile_object(kernel.llvm_ir, opt_level=1)})
    crew = team(2)
    crew.assemble()
    size = kernel.scratch_bytes + crew.threads * kernel.private_bytes
    scratch = np.full(size + 3 * _ALIGNMENT, _GARBAGE, np.uint8)
    used = [*(np.ascontiguousarray(array) for array in arrays), scratch]
    pointers = [array.ctypes.data for array in used]
    first = _ALIGNMENT + (-pointers[-1]) % _ALIGNMENT
    pointers[-1] += first
    pointers.append(crew.address)
    packed = (ctypes.c_void_p * len(pointers))(*pointers)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("main"))(ctypes.addressof(packed))
    rest = np.delete(scratch, np.s_[first : first + size])
    assert (rest == _GARBAGE).all(), "a kernel wrote outside its scratch memory"


def expected(case: Case, arrays: list[Array]) -> Array:
    """The result in float64, by the definition."""
    b, h, s, t, d, e = case.sizes
    given = iter(zip(arrays, case.operands, strict=True))

    def load(shape: tuple[int, ...], names: str) -> Array:
        array, (_, text) = next(given)
        grid = dict(zip(names, np.indices(shape), strict=True))
        array = array if array.dtype == bool else array.astype("f8")
        return array[_index(text, grid)]

    with np.errstate(all="ignore"):
        query, key = load((b, h, s, d), "bhsd"), load((b, h, t, d), "bhtd")
        value = load((b, h, t, e), "bhte")
        scores = np.einsum("bhsd,bhtd->bhst", query, key) * np.float32(case.scale)
        keep = load((b, h, s, t), "bhst") if case.keep is not None else True
        bias = load((b, h, s, t), "bhst") if case.bias is not None else 0.0
        if case.causal_offset is not None:
            keep = keep & (np.arange(t) <= np.arange(s)[:, None] + case.causal_offset)
        if case.fill_last:
            scores = np.where(keep, scores + bias, case.fill)
        else:
            scores = np.where(keep, scores, case.fill) + bias
        exponents = np.exp(scores - scores.max(-1, keepdims=True))
        p = exponents / exponents.sum(-1, keepdims=True)
        if case.masked_rows == "zero":
            p = np.where(np.isnan(p), 0.0, p)
        if case.masked_rows == "zero_if_empty":
            p = np.where(scores.max(-1, keepdims=True) == float("-inf"), 0.0, p)
        sums = np.einsum("bhst,bhte->bhse", p, value)
    result = np.empty(case.result[0])
    result[_index(case.result[1], dict(zip("bhse", np.indices(sums.shape), strict=True)))] = sums
    return result


def _index(text: str, grid: dict[str, Array]) -> tuple[Array, ...]:
    python = text.replace("floordiv", "//").replace("mod", "%")
    return tuple(
        np.broadcast_to(eval(each, {}, grid), _first(grid).shape)  # noqa: S307  (text of the tests)
        for each in _split(python)
    )


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _first(grid: dict[str, Array]) -> Array:
    return next(iter(grid.values()))


def module_of(build: Callable[..., Tensor | list[Tensor]], *arrays: Array) -> ir.Module:
    """A module whose `main` takes `arrays` and returns what `build` does with them."""
    location = ir.Location.unknown(context())
    module = ir.Module.create(location)
    with location:
        types = [
            ir.RankedTensorType.get(a.shape, mlir_type(a.dtype.name, context())) for a in arrays
        ]
        attributes = {
            "sym_name": ir.StringAttr.get("main"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        }
        ip = ir.InsertionPoint(module.body)
        function = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=ip)
    block = function.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
    b = TensorBuilder(ir.InsertionPoint(block), location)
    pairs = zip(block.arguments, arrays, strict=True)
    built = build(b, *(Tensor(value, array.dtype.name) for value, array in pairs))
    results = [built] if isinstance(built, Tensor) else list(built)
    b.emit("func.return", [tensor.value for tensor in results], [])
    with location:
        signature = ir.FunctionType.get(types, [tensor.value.type for tensor in results])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
    with context():
        assert module.operation.verify()
    return module


def evaluate_module(module: ir.Module, *arrays: Array, decompose: bool = True) -> list[Array]:
    """What `main` computes from `arrays`; named operations may be decomposed first."""
    function = module.body.operations[0].operation
    kinds = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    with context():
        dtypes = [default_dtype(kind.element_type) for kind in kinds]
        outputs = [np.full(list(k.shape), 77, d) for k, d in zip(kinds, dtypes, strict=True)]
        if decompose:
            run_pipeline(module, "decompose-named-ops")
        lowered = lower_kernel(module)
    _call(lowered, [*arrays, *outputs])
    return outputs
