# SPDX-License-Identifier: MIT OR Apache-2.0
"""MLIR files that must be refused."""

from __future__ import annotations

from bad_models import BadFile, data

from xyntra.errors import InputError, ModelError, UnsupportedError, XyntraError

_TYPE = "tensor<4xf32>"
_IDENTITY = "func.func @{0}(%x: {1}) -> {1} {{\n  return %x : {1}\n}}\n"


def _identity(type_: str) -> str:
    return _IDENTITY.format("main", type_)


def _function(body: str, arguments: str = "%x: tensor<4xf32>") -> str:
    return f"func.func @main({arguments}) -> {_TYPE} {{\n{body}\n  return %y : {_TYPE}\n}}\n"


_NEGATE = f"  %y = linalg.negf ins(%w : {_TYPE}) outs(%w : {_TYPE}) -> {_TYPE}"
_WEIGHT = _function(_NEGATE, f'%w: {_TYPE} {{xyntra.parameter = "w"}}')
_NUMBER = f"""  %i = arith.constant 0 : index
  %v = tensor.extract %x[%i] : {_TYPE}
"""
_BRANCHES = _function(
    f"""{_NUMBER}  %c = arith.cmpf olt, %v, %v : f32
  cf.cond_br %c, ^a(%x : {_TYPE}), ^b
^b:
  %e = tensor.empty() : {_TYPE}
  cf.br ^a(%e : {_TYPE})
^a(%y: {_TYPE}):"""
)
_SCATTER = _function(
    f"""  %i = arith.constant dense<0> : tensor<1x1xi64>
  %v = tensor.extract_slice %x[0] [1] [1] : {_TYPE} to tensor<1xf32>
  %y = tensor.scatter %v into %x[%i] scatter_dims([0]) unique
      : (tensor<1xf32>, {_TYPE}, tensor<1x1xi64>) -> {_TYPE}"""
)
_DYNAMIC = _function(
    f"""{_NUMBER}  %n = arith.fptoui %v : f32 to i32
  %m = arith.index_cast %n : i32 to index
  %s = tensor.extract_slice %x[0] [%m] [1] : {_TYPE} to tensor<?xf32>
  %e = math.exp %s : tensor<?xf32>
  %y = tensor.insert_slice %e into %x[0] [%m] [1] : tensor<?xf32> into {_TYPE}"""
)
_WHILE = _function(
    f"""  %y = scf.while (%t = %x) : ({_TYPE}) -> {_TYPE} {{
    %i = arith.constant 0 : index
    %v = tensor.extract %t[%i] : {_TYPE}
    %l = arith.constant 1.0 : f32
    %c = arith.cmpf ogt, %v, %l : f32
    scf.condition(%c) %t : {_TYPE}
  }} do {{
  ^bb0(%t: {_TYPE}):
    %h = math.sqrt %t : {_TYPE}
    scf.yield %h : {_TYPE}
  }}"""
)
_DIAGONAL = """#v = affine_map<(d0) -> (d0)>
#d = affine_map<(d0) -> (d0, d0)>
func.func @main(%v: tensor<3xf32>, %m: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = linalg.generic {indexing_maps = [#v, #d], iterator_types = ["parallel"]}
      ins(%v : tensor<3xf32>) outs(%m : tensor<3x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
"""
_STORE = _function(
    f"""{_NUMBER}  %m = memref.alloc() : memref<4xf32>
  memref.store %v, %m[%i] : memref<4xf32>
  %y = bufferization.to_tensor %m restrict : memref<4xf32> to {_TYPE}"""
)
_CASES: dict[str, tuple[str, type[XyntraError], str, str]] = {
    "mlir that does not parse": (_function("  retrun"), ModelError, "mlir-invalid", ":2:3"),
    "mlir that does not verify": (
        "func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n  return %x : tensor<2xf32>\n}",
        ModelError,
        "mlir-invalid",
        "'tensor<2xf32>'",
    ),
    "mlir of a newer version": ("ML\u00efR", ModelError, "mlir-invalid", "bad.mlir"),
    "mlir empty": ("", ModelError, "mlir-no-function", "bad.mlir"),
    "mlir without a function": ("module {}", ModelError, "mlir-no-function", "bad.mlir"),
    "mlir with two functions": (
        _IDENTITY.format("a", _TYPE) + _IDENTITY.format("b", _TYPE),
        UnsupportedError,
        "mlir-unsupported",
        "'a', 'b'",
    ),
    "mlir with a declaration": (
        f"func.func private @a({_TYPE})\n" + _identity(_TYPE),
        UnsupportedError,
        "mlir-unsupported",
        "'a'",
    ),
    "mlir of unknown size": (
        _identity("tensor<?xf32>"),
        InputError,
        "free-dimension",
        "need a size",
    ),
    "mlir of unknown rank": (
        _identity("tensor<*xf32>"),
        UnsupportedError,
        "mlir-unsupported",
        "'main'",
    ),
    "mlir on buffers": (_identity("memref<2xf32>"), UnsupportedError, "mlir-unsupported", "'main'"),
    "mlir on an index": (_identity("index"), UnsupportedError, "mlir-unsupported", "use i64"),
    "mlir on a string": (_identity("!llvm.ptr"), UnsupportedError, "mlir-unsupported", "'main'"),
    "mlir of seven bits": (_identity("tensor<2xi7>"), UnsupportedError, "mlir-unsupported", "i7"),
    "mlir of complex numbers": (
        _identity("tensor<2xcomplex<f32>>"),
        UnsupportedError,
        "mlir-unsupported",
        "complex",
    ),
    "mlir with an encoding": (
        _identity("tensor<2xf32, 1>"),
        UnsupportedError,
        "mlir-unsupported",
        "'main'",
    ),
    "mlir above the limit": (
        _identity("tensor<99999999999999xf32>"),
        UnsupportedError,
        "tensor-too-large",
        "bad.mlir",
    ),
    "mlir with a global": (
        "memref.global @g : memref<2xf32>\n" + _identity(_TYPE),
        UnsupportedError,
        "mlir-unsupported",
        "memref.global",
    ),
    "mlir of an unknown dialect": (
        _function(f'  %y = "foo.bar"(%x) : ({_TYPE}) -> {_TYPE}'),
        ModelError,
        "mlir-invalid",
        "bad.mlir",
    ),
    "mlir with branches": (_BRANCHES, UnsupportedError, "control-flow-unsupported", "branches"),
    "mlir of an operation without code": (_SCATTER, UnsupportedError, "mlir-operation", "line 4"),
    "mlir of a computed size": (_DYNAMIC, UnsupportedError, "mlir-dynamic", "line 6, column 8"),
    "mlir with an open loop": (_WHILE, UnsupportedError, "mlir-operation", "scf.for"),
    "mlir that writes a diagonal": (_DIAGONAL, UnsupportedError, "mlir-operation", "insert_slice"),
    "mlir with memory inside": (_STORE, UnsupportedError, "mlir-type", "keep values in tensors"),
    "mlir that calls itself": (
        _function(f"  %y = call @main(%x) : ({_TYPE}) -> {_TYPE}"),
        UnsupportedError,
        "mlir-recursion",
        "'main'",
    ),
    "mlir with a dtype of another type": (
        _function("", f'%y: {_TYPE} {{xyntra.dtype = "int8"}}'),
        ModelError,
        "mlir-invalid",
        "'int8'",
    ),
    "mlir with a name twice": (
        _function("", ", ".join(f'%{v}: {_TYPE} {{xyntra.input = "n"}}' for v in "xy")),
        ModelError,
        "duplicate-name",
        "'n'",
    ),
    "mlir whose weights are missing": (
        f'module attributes {{xyntra.parameters = "gone.onnx"}} {{\n{_WEIGHT}}}',
        ModelError,
        "model-missing",
        "gone.onnx",
    ),
    "mlir whose weights have no file": (_WEIGHT, ModelError, "weight-missing", "'w'"),
}

BAD_MLIR = {
    name: BadFile(data(text.encode("latin-1"), "bad.mlir"), kind, code, says)
    for name, (text, kind, code, says) in _CASES.items()
}
