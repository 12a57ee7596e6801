# SPDX-License-Identifier: MIT OR Apache-2.0
"""MLIR text that no model needs, and that could harm the process that runs it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xyntra.errors import ModelError, UnsupportedError, XyntraError
from xyntra.passes.fusion.legality.violation import IllegalFusion

_T = "tensor<4xf32>"
_ID = "affine_map<(d0) -> (d0)>"


@dataclass(frozen=True)
class Refused:
    """A module, and the error that it gives: `code`, or one of `codes` of another pass.

    What nothing depends on may be removed instead: `removed` is not in the module then.
    """

    text: str
    says: str
    kind: type[XyntraError] = UnsupportedError
    code: str = "mlir-unsupported"
    codes: tuple[str, ...] = ("mlir-operation", "mlir-type", "mlir-dynamic")
    removed: str = ""


def _main(body: str, result: str = "%x") -> str:
    return f"func.func @main(%x: {_T}) -> {_T} {{\n{body}\n  return {result} : {_T}\n}}\n"


def _scalar(body: str) -> str:
    """A module whose second to last line, 5, computes in the body of a linalg operation."""
    return _main(
        f"""  %e = tensor.empty() : {_T}
  %y = linalg.map ins(%x : {_T}) outs(%e : {_T}) (%v: f32, %o: f32) {{
    %c = arith.constant 1 : index
{body}
    linalg.yield %v : f32
  }}""",
        "%y",
    )


def _indexed(maps: str, inputs: str = "tensor<1xf32>") -> str:
    return _main(
        f"""  %p = tensor.extract_slice %x[0] [1] [1] : {_T} to tensor<1xf32>
  %e = tensor.empty() : tensor<5x5xf32>
  %z = linalg.generic {{indexing_maps = [{maps}, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p : {inputs}) outs(%e : tensor<5x5xf32>) {{
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }} -> tensor<5x5xf32>
  %y = tensor.extract_slice %z[0, 0] [1, 4] [1, 1] : tensor<5x5xf32> to {_T}""",
        "%y",
    )


def _kernel(attributes: str, body: str = "", name: str = "elementwise_k", marks: str = "") -> str:
    body = (
        body
        or f"""    %e = tensor.empty() : {_T}
    %y = linalg.generic {{indexing_maps = [{_ID}, {_ID}], iterator_types = ["parallel"]}}
        ins(%a : {_T}) outs(%e : {_T}) {{
    ^bb0(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    }} -> {_T}
    return %y : {_T}"""
    )
    return f"""module {{
  func.func private @{name}(%a: {_T}{marks}) -> {_T} attributes {{
      xyntra.kernel = #xyntra.kernel<{{kind = "elementwise"}}>{attributes}}} {{
{body}
  }}
  func.func @main(%x: {_T}) -> {_T} {{
    %r = call @{name}(%x) : ({_T}) -> {_T}
    return %r : {_T}
  }}
}}
"""


def _out(text: str, says: str) -> Refused:
    return Refused(text, says, ModelError, "mlir-out-of-bounds")


_CASES: dict[str, Refused] = {
    "memory in a body": Refused(
        _scalar("    %m = memref.alloca() : memref<4xf32>"),
        "'memref.alloca'",
    ),
    "inline assembly": Refused(
        _scalar('    llvm.inline_asm has_side_effects "hlt", "" : () -> ()'), "line 5"
    ),
    "a pointer": Refused(_scalar("    %p = llvm.mlir.zero : !llvm.ptr"), "'llvm.mlir.zero'"),
    "a loop without end": Refused(
        _scalar(
            """    %t = arith.constant true
    scf.while : () -> () {
      scf.condition(%t)
    } do {
      scf.yield
    }"""
        ),
        "'scf.while'",
    ),
    "a loop without steps": Refused(
        _scalar(
            """    %z = arith.constant 0 : index
    scf.for %i = %z to %c step %z {
    }"""
        ),
        "constant step",
    ),
    "a loop of computed steps": Refused(
        _scalar(
            """    %z = linalg.index 0 : index
    scf.for %i = %z to %c step %z {
    }"""
        ),
        "constant step",
    ),
    "poison": Refused(_scalar("    %p = ub.poison : index"), "'ub.poison'"),
    "a vector": Refused(
        _scalar("    %p = arith.constant dense<1.0> : vector<4xf32>"),
        "numbers or tensors",
    ),
    "an integer of any width": Refused(_scalar("    %p = arith.constant 1 : i1000"), "i1000"),
    "affine division": Refused(
        _scalar("    %p = affine.apply affine_map<(d0)[s0] -> (d0 floordiv s0)>(%c)[%c]"),
        "'affine.apply'",
    ),
    "a read of memory": Refused(
        _main(
            f"""  %c = arith.constant 0 : index
  %p = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c], %p : {_T}, vector<8xf32>"""
        ),
        "'vector.transfer_read'",
    ),
    "a buffer of a tensor": Refused(
        _main(f"  %m = bufferization.to_buffer %x : {_T} to memref<4xf32>"),
        "'bufferization.to_buffer'",
    ),
    "an allocation": Refused(
        _main(f"  %m = bufferization.alloc_tensor() : {_T}", "%m"), "'bufferization.alloc_tensor'"
    ),
    "a gather": Refused(
        _main(
            f"""  %i = arith.constant dense<9> : tensor<4x1xindex>
  %y = tensor.gather %x[%i] gather_dims([0]) : ({_T}, tensor<4x1xindex>) -> {_T}""",
            "%y",
        ),
        "tensor<4x1xindex>",
    ),
    "a computed size": Refused(
        _main(
            f"""  %c = arith.constant 9 : index
  %s = tensor.extract_slice %x[0] [%c] [1] : {_T} to tensor<?xf32>"""
        ),
        "computed sizes",
    ),
    "a computed stride": Refused(
        _main(
            f"""  %c = arith.constant 9 : index
  %s = tensor.extract_slice %x[0] [2] [%c] : {_T} to tensor<2xf32>"""
        ),
        "computed sizes",
    ),
    "contents from elsewhere": Refused(
        _main(f"  %c = arith.constant dense_resource<r> : {_T}", "%c")
        + '{-# dialect_resources: { builtin: { r: "0x04000000" } } #-}',
        "dense",
    ),
    "more memory than there is": Refused(
        _scalar("    %p = tensor.empty() : tensor<1000000000000xf32>"),
        "4,000,000,000,000 bytes",
        code="tensor-too-large",
    ),
    "attributes of LLVM": Refused(
        _main("").replace("{\n", 'attributes {passthrough = ["naked"]} {\n', 1), "'passthrough'"
    ),
    "an argument's attributes": Refused(
        _main("").replace(f"%x: {_T}", f"%x: {_T} {{bufferization.writable = true}}"),
        "'bufferization.writable'",
    ),
    "an operation's attributes": Refused(
        _main(f"  %e = tensor.empty() {{llvm.align = 4 : i64}} : {_T}", "%e"), "'llvm.align'"
    ),
    "a kernel named as a function of the library": Refused(
        _kernel("", name="memcpy"), "begin with a kind"
    ),
    "a kernel that calls": Refused(
        _kernel("", f"    %r = call @main(%a) : ({_T}) -> {_T}\n    return %r : {_T}"), "calls"
    ),
    "a kernel that overwrites an input": Refused(
        _kernel(", xyntra.inplace = [[0, 0]]"),
        "belongs to the caller",
        IllegalFusion,
        "illegal-fusion",
    ),
    "a kernel that overwrites an argument that it has not": Refused(
        _kernel(", xyntra.inplace = [[0, 7]]"), "pair", IllegalFusion, "illegal-fusion"
    ),
    "a difference of loops": _out(
        _indexed("affine_map<(d0, d1) -> (d0 - d1)>"), "from -4 to 4 where it has 1"
    ),
    "a remainder of loops": _out(
        _indexed("affine_map<(d0, d1) -> (d0 mod 4 + d1 mod 4)>"), "from 0 to 6 where it has 1"
    ),
    "a division of loops": _out(
        _indexed("affine_map<(d0, d1) -> ((d0 + d1) floordiv 3 - d1 floordiv 4 - d0 floordiv 4)>"),
        "operand 0",
    ),
    "a window that runs backwards": _out(
        """func.func @main(%x: tensor<1x1x1xf32>, %k: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %e = tensor.empty() : tensor<1x1x3xf32>
  %y = linalg.conv_1d_ncw_fcw {strides = dense<-1> : tensor<1xi64>,
      dilations = dense<1> : tensor<1xi64>}
      ins(%x, %k : tensor<1x1x1xf32>, tensor<1x1x3xf32>) outs(%e : tensor<1x1x3xf32>)
      -> tensor<1x1x3xf32>
  return %y : tensor<1x1x3xf32>
}
""",
        "operand 0",
    ),
    "padding by less than nothing": _out(
        _main(
            f"""  %c = arith.constant 0.0 : f32
  %y = tensor.pad %x low[3] high[-3] {{
  ^bb0(%i: index):
    tensor.yield %c : f32
  }} : {_T} to {_T}""",
            "%y",
        ),
        "less than nothing",
    ),
}

# Operations that are taken out because nothing depends on them.
_REMOVED = {
    "memory in a body": "alloca",
    "a pointer": "llvm",
    "a loop without end": "scf.while",
    "a loop without steps": "scf.for",
    "a loop of computed steps": "scf.for",
    "poison": "ub.poison",
    "a vector": "vector",
    "an integer of any width": "i1000",
    "affine division": "affine.apply",
    "a read of memory": "vector",
    "a buffer of a tensor": "memref",
    "a gather": "gather",
    "a computed size": "extract_slice",
    "a computed stride": "[%",
    "more memory than there is": "1000000000000x",
}
REFUSED = {name: replace(case, removed=_REMOVED.get(name, "")) for name, case in _CASES.items()}
