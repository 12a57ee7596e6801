# SPDX-License-Identifier: MIT OR Apache-2.0
"""The emulator of PTX: what it computes, and what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import EmulatorError, run_image
from emulator.parse import parse
from emulator.types import Array

from xyntra.targets.cuda.code.kernel_image import ImageLaunch, KernelImage

_THREADS = 64
_PROGRAM = """
.version 8.7
.target sm_90a
.address_size 64
.global .align 4 .b8 table[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};
.shared .align 16 .b8 k_0[512];
.entry k(.param .u64 .ptr .align 1 k_param_0)
.reqntid {threads}, 1, 1
{{
	.reg .pred %p<4>;
	.reg .b16 %rs<4>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<8>;
	ld.param.b64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	mov.b32 %r2, k_0;
	shl.b32 %r3, %r1, 2;
	add.s32 %r4, %r2, %r3;
{body}
	st.global.b32 [%rd3], %r9;
	ret;
}}
"""
_OTHER_WARP = """
	st.shared.b32 [%r4], %r1;
{between}
	xor.b32 %r5, %r4, 128;
	ld.shared.b32 %r9, [%r5];
"""


def run(body: str, threads: int = _THREADS) -> Array:
    """What the threads leave in %r9."""
    launch = ImageLaunch("k", 1, threads)
    result = np.zeros(4 * threads, np.uint8)
    image = KernelImage((launch,), (), _PROGRAM.format(body=body, threads=threads))
    run_image(image, [result])
    return result.view(np.uint32)


def test_the_two_sides_of_a_branch() -> None:
    found = run(
        """
	setp.lt.u32 %p1, %r1, 5;
	@%p1 bra FEW;
	mov.b32 %r9, 7;
	bra.uni DONE;
FEW:
	mov.b32 %r9, %r1;
DONE:
	add.s32 %r9, %r9, 100;
"""
    )
    thread = np.arange(_THREADS)
    np.testing.assert_array_equal(found, np.where(thread < 5, thread, 7) + 100)


def test_a_loop_of_different_lengths() -> None:
    found = run(
        """
	mov.b32 %r9, 0;
	mov.b32 %r5, 0;
MORE:
	add.s32 %r9, %r9, %r5;
	add.s32 %r5, %r5, 1;
	setp.le.u32 %p1, %r5, %r1;
	@%p1 bra MORE;
"""
    )
    thread = np.arange(_THREADS)
    np.testing.assert_array_equal(found, thread * (thread + 1) // 2)


def test_numbers_that_do_not_fit() -> None:
    found = run(
        """
	mov.b32 %r5, -3;
	mul.hi.u32 %r6, %r5, %r5;
	shr.s32 %r7, %r5, 40;
	cvt.s8.s32 %rs1, %r5;
	cvt.u32.u16 %r8, %rs1;
	xor.b32 %r9, %r6, %r7;
	add.s32 %r9, %r9, %r8;
"""
    )
    high = (2**32 - 3) ** 2 >> 32
    assert found[0] == ((high ^ 0xFFFFFFFF) + 0xFFFD) % 2**32


def test_floats() -> None:
    found = run(
        """
	cvt.rn.f32.u32 %r5, %r1;
	fma.rn.f32 %r6, %r5, 0f3F000000, 0f3F800000;
	max.f32 %r7, %r6, 0f7FC00000;
	max.NaN.f32 %r8, %r6, 0f7FC00000;
	setp.nan.f32 %p1, %r8, %r8;
	selp.f32 %r9, %r7, 0f00000000, %p1;
"""
    )
    np.testing.assert_array_equal(found.view(np.float32), np.arange(_THREADS) / 2 + 1)


def test_pairs_of_floats() -> None:
    found = run(
        """
	cvt.rn.f32.u32 %r5, %r1;
	mov.b32 %r6, 0f40000000;
	mov.b64 %rd5, {%r5, %r6};
	fma.rn.f32x2 %rd5, %rd5, %rd5, %rd5;
	mov.b64 {%r7, %r8}, %rd5;
	add.rn.f32 %r9, %r7, %r8;
"""
    )
    thread = np.arange(_THREADS)
    np.testing.assert_array_equal(found.view(np.float32), thread * thread + thread + 6)


def test_floats_of_two_widths() -> None:
    found = run(
        """
	mov.b16 %rs1, 0x3E00;
	mov.b16 %rs2, 0x3FC0;
	cvt.rn.f32.u32 %r5, %r1;
	fma.rn.f32.f16 %r6, %rs1, %rs1, %r5;
	sub.rn.f32.bf16 %r9, %rs2, %r6;
"""
    )
    np.testing.assert_array_equal(found.view(np.float32), 1.5 - (2.25 + np.arange(_THREADS)))


def test_a_constant_array() -> None:
    body = """
	and.b32 %r5, %r1, 1;
	mov.b64 %rd4, table;
	mul.wide.u32 %rd5, %r5, 4;
	add.s64 %rd4, %rd4, %rd5;
	ld.global.nc.b32 %r9, [%rd4];
"""
    np.testing.assert_array_equal(run(body)[:4], [1, 2, 1, 2])


def test_warps_see_each_other_behind_a_barrier() -> None:
    found = run(_OTHER_WARP.format(between="\tbar.sync 0;"))
    np.testing.assert_array_equal(found, np.arange(_THREADS) ^ 32)


@pytest.mark.parametrize("between", ["", "\tbar.warp.sync -1;"])
def test_a_race_is_found(between: str) -> None:
    with pytest.raises(EmulatorError, match=r"race: warp \d reads byte"):
        run(_OTHER_WARP.format(between=between))


def test_overwriting_what_is_read_is_found() -> None:
    body = _OTHER_WARP.format(between="\tbar.sync 0;") + "\tst.shared.b32 [%r4], %r9;\n"
    with pytest.raises(EmulatorError, match="may be reading"):
        run(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("\tst.global.b32 [%rd3+4], %r1;\n", "byte 259 of array 0, which has 256"),
        ("\tld.global.b64 %rd4, [%rd3];\n", "multiple of 8"),
        ("\tld.shared.b32 %r9, [%r4+400];\n", "of 512 of shared memory"),
        ("\tpopc.b32 %r9, %r1;\n", "not known to the emulator"),
        ("\tdiv.u32 %r9, %r1, 0;\n", "division by zero"),
        ("\tsetp.lt.u32 %p1, %r1, 32;\n\t@%p1 bar.sync 0;\n", "nobody can go on"),
        ("AGAIN:\n\tbra.uni AGAIN;\n", "does not end"),
    ],
)
def test_what_is_wrong_is_said(body: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(body)


def test_a_warp_that_is_not_complete() -> None:
    body = """
	setp.lt.u32 %p1, %r1, 40;
	@%p1 bra DONE;
	shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;
DONE:
"""
    with pytest.raises(EmulatorError, match=r"incomplete at 'shfl\.sync"):
        run(body)


def test_shuffles() -> None:
    found = run("\tshfl.sync.bfly.b32 %r9, %r1, 5, 31, -1;\n")
    np.testing.assert_array_equal(found, np.arange(_THREADS) ^ 5)


@pytest.mark.parametrize(("waits", "expected"), [(True, 0), (False, 0xFFFFFFFF)])
def test_a_copy_lands_when_it_is_waited_for(waits: bool, expected: int) -> None:
    wait = "\tcp.async.wait_group 0;\n" if waits else ""
    found = run(
        f"""
	cp.async.ca.shared.global [%r4], [%rd3], 4;
	cp.async.commit_group;
{wait}
	ld.shared.b32 %r9, [%r4];
"""
    )
    assert set(found.tolist()) == {expected}


def test_a_product_of_matrices() -> None:
    """Ones times ones, sixteen deep, on top of three."""
    found = run(
        """
	mov.b32 %r5, 0x3C003C00;
	mov.b32 %r6, 0f40400000;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r9, %r10, %r11, %r12},
		{%r5, %r5, %r5, %r5}, {%r5, %r5}, {%r6, %r6, %r6, %r6};
"""
    )
    assert set(found.view(np.float32).tolist()) == {19.0}


def test_reading_of_inline_assembly() -> None:
    text = _PROGRAM.format(
        threads=32,
        body="""
	// begin inline asm
	{ .reg .pred done;
	AGAIN: setp.eq.u32 done, %r1, %r1;
	@done bra END;
	bra AGAIN;
	END: }
	// end inline asm
	{ .reg .b32 done;
	AGAIN: mov.b32 done, 3; mov.b32 %r9, done; }
""",
    )
    entry = parse(text).entries["k"]
    kinds = [kind for name, kind in entry.registers.items() if name.startswith("done")]
    assert kinds == ["pred", "b32"]
    assert len([label for label in entry.labels if label.startswith("AGAIN")]) == 2
