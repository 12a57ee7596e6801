# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records matrix products and other contractions."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.functions.creation import dtype_name
from xyntra.frontends.kernel.language import array_of, broadcast, constant, constant_axis, language
from xyntra.frontends.kernel.promotion import check_kind, common_dtype, lifted
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue

__all__: list[str] = []

_BATCH = "abcdefgh"


@language("matmul")
def matmul(r: KernelRecorder, x1: Any, x2: Any, /, *, dtype: Any = None) -> ArrayValue:
    """Matrix products, batch dimensions broadcast; `x1 @ x2`.

    16-bit floats accumulate in float32 and are rounded once; `dtype` keeps them unrounded.
    """
    a, b = array_of("@", x1), array_of("@", x2)
    check_kind("@", a, 1, 2)
    check_kind("@", b, 1, 2)
    if not a.ndim or not b.ndim or max(a.ndim, b.ndim) > len(_BATCH) + 2:
        raise KernelError("kernel-shape", f"@ takes vectors and matrices, not {a} and {b}")
    inner = b.shape[-2 if b.ndim > 1 else 0]
    if a.shape[-1] != inner:
        raise KernelError(
            "kernel-shape",
            f"@: the shapes {a.shape} and {b.shape} have no product",
            cause=f"rows of {a.shape[-1]} elements meet columns of {inner}",
            hint="b.mT exchanges the last two dimensions",
        )
    batch = broadcast("@", a.shape[:-2], b.shape[:-2])
    dims = _BATCH[: len(batch)]
    left = dims[len(dims) - max(a.ndim - 2, 0) :] + ("mk" if a.ndim > 1 else "k")
    right = dims[len(dims) - max(b.ndim - 2, 0) :] + ("kn" if b.ndim > 1 else "k")
    out = dims + ("m" if a.ndim > 1 else "") + ("n" if b.ndim > 1 else "")
    shape = [*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())]
    return _contracted(r, f"{left},{right}->{out}", [a, b], shape, dtype, "@")


def _contracted(
    r: KernelRecorder, equation: str, operands: list[ArrayValue], shape: Any, dtype: Any, name: str
) -> ArrayValue:
    common = common_dtype(*operands, what=name)
    result = common if dtype is None else dtype_name(dtype)
    given = [lifted(r, each, common) for each in operands]
    return r.call("xyntra.einsum", result, shape, equation=equation, operands=given)


@language("einsum")
def einsum(r: KernelRecorder, equation: Any, /, *operands: Any, dtype: Any = None) -> ArrayValue:
    """Sums of products, as `xl.einsum("bmk,bkn->bmn", a, b)`; `...` stands for dimensions."""
    text = constant(equation)
    if not isinstance(text, str):
        raise KernelError("kernel-type", "xl.einsum takes an equation first", hint='"mk,kn->mn"')
    arrays = [array_of("xl.einsum", each) for each in operands]
    for each in arrays:
        check_kind("xl.einsum", each, 1, 2)
    terms, arrow, out = text.replace(" ", "").partition("->")
    letters = terms.split(",")
    if len(letters) != len(arrays) or not arrays:
        raise KernelError(
            "kernel-shape", f"'{text}' is for {len(letters)} operands, there are {len(arrays)}"
        )
    sizes: dict[str, int] = {}
    dots: tuple[int, ...] = ()
    for term, each in zip(letters, arrays, strict=True):
        dots = broadcast("xl.einsum", dots, _named_sizes(text, term, each, sizes))
    if not arrow:
        every = "".join(letters)
        out = "..." * bool(dots) + "".join(
            sorted(c for c in set(every) - {"."} if every.count(c) == 1)
        )
    plain = out.replace("...", "")
    if len(set(plain)) != len(plain) or not set(plain) <= set(sizes) or out.count("...") > 1:
        raise KernelError(
            "kernel-shape", f"the result of '{text}' names a dimension that is not there"
        )
    before, _, after = out.partition("...") if "..." in out else (out, "", "")
    if dots and "..." not in out:
        raise KernelError("kernel-shape", f"the result of '{text}' lacks ...")
    shape = [*(sizes[c] for c in before), *dots, *(sizes[c] for c in after)]
    return _contracted(r, f"{terms}->{out}", arrays, shape, dtype, "xl.einsum")


def _named_sizes(text: str, term: str, x: ArrayValue, sizes: dict[str, int]) -> tuple[int, ...]:
    """Enter the sizes of the letters of one operand; return those of its ellipsis."""
    before, dots, after = term.partition("...")
    count = x.ndim - len(before + after)
    if set(before + after) - set(ascii_letters) or count < 0 or (count and not dots):
        raise KernelError(
            "kernel-shape", f"'{term}' of '{text}' does not name the dimensions of {x}"
        )
    named = [*zip(before, x.shape, strict=False)]
    named += zip(after, x.shape[x.ndim - len(after) :], strict=True)
    for letter, size in named:
        if sizes.setdefault(letter, size) != size:
            raise KernelError(
                "kernel-shape", f"'{text}': {letter} has the sizes {sizes[letter]} and {size}"
            )
    return x.shape[len(before) : len(before) + count]


@language("vecdot")
def vecdot(r: KernelRecorder, x1: Any, x2: Any, /, *, axis: Any = -1) -> ArrayValue:
    """Sums of products along one dimension of two arrays that broadcast."""
    a, b = array_of("xl.vecdot", x1), array_of("xl.vecdot", x2)
    shape = broadcast("xl.vecdot", a.shape, b.shape)
    at = constant_axis("axis", axis, min(a.ndim, b.ndim)) - min(a.ndim, b.ndim) + len(shape)
    letters = ascii_letters[: len(shape)]
    out = letters[:at] + letters[at + 1 :]
    equation = f"{letters[len(shape) - a.ndim :]},{letters[len(shape) - b.ndim :]}->{out}"
    result = [size for d, size in enumerate(shape) if d != at]
    return _contracted(r, equation, [a, b], result, None, "xl.vecdot")


@language("outer")
def outer(r: KernelRecorder, x1: Any, x2: Any, /) -> ArrayValue:
    """The products of all elements of one vector with all of another."""
    a, b = array_of("xl.outer", x1), array_of("xl.outer", x2)
    if a.ndim != 1 or b.ndim != 1:
        raise KernelError("kernel-shape", f"xl.outer takes vectors, not {a} and {b}")
    return _contracted(r, "m,n->mn", [a, b], [a.size, b.size], None, "xl.outer")
