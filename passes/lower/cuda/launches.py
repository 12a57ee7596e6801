# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes CUDA launch attributes that the `gpu` dialect lacks, and reads them back.

What the `gpu` dialect has no words for are attributes of the launch: `xyntra.programmatic`,
`xyntra.resident`, `xyntra.steps`, and what the host encodes of a tensor for a tensor map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block, operations_named
from xyntra.passes.analysis.sizes.session import not_free, session
from xyntra.passes.analysis.sizes.size import Size, hint_of
from xyntra.passes.lower.cuda.joined_launches import join_launches
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.ptx.assembly import ASSEMBLY
from xyntra.passes.lower.cuda.ptx.launches import (
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    is_griddepcontrol_wait,
)
from xyntra.passes.lower.cuda.tensor_map import MAP_ARGUMENT, TensorMap, pass_maps
from xyntra.passes.lower.gpu.contraction.group import ANCHOR
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.launching.launching import Launching
from xyntra.passes.lower.gpu.launching.outline import (
    ARGUMENTS,
    BLOCK,
    BLOCKS,
    CLUSTER,
    GRID,
    SCHEDULE,
    SHARED,
)
from xyntra.passes.lower.gpu.launching.told_sizes import (
    is_size,
    numbers_attribute,
    numbers_of,
    size_from,
    size_text,
)
from xyntra.passes.lower.gpu.stages.stage import Stage

PROGRAMMATIC = True
"""Whether launches are prepared while the ones before them end, and wait by themselves.

On an H100, BERT-base of f16 at batch 1 takes 313 us by it, and 334 us without.
"""
_FEW_THREADS = 256
_LITTLE_SHARED = 48 << 10
"""Bytes of an attention's block: that of BERT-base at batch 1 has 39 KB; the model gains 1.7 us of
302 by it, and GPT-2 3.5 of 332."""
_MAP = "builtin.unrealized_conversion_cast"  # a tensor to the argument that describes it
_FIELDS = "xyntra.tensor_map"
_SINGLE = frozenset({"swizzle", "offset"})
_PROGRAMMATIC = "xyntra.programmatic"
_RESIDENT = "xyntra.resident"
_STEPS = "xyntra.steps"


class CudaLaunching(Launching):
    """Launches that begin before others have ended, tensor maps, and bounds of registers."""

    def decided(
        self, emitted: Sequence[tuple[Stage, LaunchShape | None]], device: GpuDevice
    ) -> list[LaunchShape | None]:
        """Return the launches, which begin before the ones ahead have ended where they can."""
        overlap = PROGRAMMATIC and device.has(Feature.DEPENDENT_LAUNCH)
        found: list[LaunchShape | None] = []
        for stage, shape in emitted:
            launch = None if shape is None else replace(CudaLaunch.of(shape), programmatic=overlap)
            if launch is not None and overlap and _leaves_room(stage, launch, device):
                _let_next_begin(stage.op)
            found.append(launch)
        return found

    def joined(
        self,
        stages: Sequence[Stage],
        shapes: Sequence[LaunchShape | None],
        device: GpuDevice,
    ) -> list[LaunchShape | None]:
        """Return the launches, of which small ones that follow one another are steps of one.

        What is told sizes has launches of as many blocks as these say, and keeps them.
        """
        if session.get() is not None:
            return list(shapes)
        known = [None if shape is None else CudaLaunch.of(shape) for shape in shapes]
        return list(join_launches([stage.op for stage in stages], known, device))

    def finished(self, function: ir.Operation, shape: LaunchShape) -> LaunchShape:
        """Return a launch with its tensor maps, whose code waits for the one ahead."""
        launch = CudaLaunch.of(shape)
        inner = operations_named(function, ASSEMBLY, MAP_ARGUMENT)
        if any(isinstance(size, Size) and size < 1 for each in launch.maps for size in each.sizes):
            raise not_free("a tensor map has no elements")
        if launch.programmatic and not any(map(is_griddepcontrol_wait, inner)):
            with ir.InsertionPoint.at_block_begin(entry_block(function)), function.location:
                griddepcontrol_wait()
        casts = (op for op in inner if op.name == MAP_ARGUMENT)
        return replace(launch, maps=pass_maps(function, launch.maps, casts))

    def is_overlapping(self, shape: LaunchShape) -> bool:
        """Tell whether a launch begins before the one ahead has ended."""
        return CudaLaunch.of(shape).programmatic

    def operands(self, shape: LaunchShape, memory: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the tensor maps of a launch."""
        return [_tensor_map(memory[each.argument], each) for each in CudaLaunch.of(shape).maps]

    def attributes(self, shape: LaunchShape) -> Mapping[str, ir.Attribute]:
        """Return whether a launch overlaps, and how many blocks of it are to be resident."""
        launch, found = CudaLaunch.of(shape), dict[str, ir.Attribute]()
        if launch.programmatic:
            found[_PROGRAMMATIC] = ir.UnitAttr.get()
        if launch.resident:
            found[_RESIDENT] = ir.IntegerAttr.get(_word(), launch.resident)
        if launch.steps:
            found[_STEPS] = ir.IntegerAttr.get(_word(), launch.steps)
        return found


def _leaves_room(stage: Stage, shape: CudaLaunch, device: GpuDevice) -> bool:
    """Tell whether blocks of the next launch find their places as if this one were not there."""
    is_small = hint_of(shape.grid) <= device.multiprocessors and shape.block <= _FEW_THREADS
    if stage.attention is not None:
        return is_small and (shape.shared <= _LITTLE_SHARED or _is_of_memory(stage))
    has_anchor = any(ANCHOR in op.attributes for op in stage.operations)
    return not has_anchor and is_small and shape.shared == 0


def _is_of_memory(stage: Stage) -> bool:
    """Tell whether an attention only reads, so that copies of the next launch are no hindrance."""
    schedule = schedule_of(stage.op)
    return schedule is not None and schedule.emitter == "flash-decode"


def _let_next_begin(stage: ir.Operation) -> None:
    """Let the launch behind `stage` take its places once all blocks of this one have theirs.

    It pays where these blocks need little. Beside others, those of the next launch would lie
    several on some multiprocessors and none on others, and wait there.
    """
    with ir.InsertionPoint.at_block_begin(stage.regions[0].blocks[0]), stage.location:
        griddepcontrol_launch_dependents()


def launch_entry(op: ir.Operation) -> str:
    """Return the symbol, in the `gpu.module`, of the function that is launched."""
    return str(ir.SymbolRefAttr(op.attributes["kernel"]).value[-1])


def launch_shape(op: ir.Operation) -> CudaLaunch:
    """Return what `emit_launch` was given."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))

    def constant(segment: int) -> int:
        operand = op.operands[sum(segments[:segment])]
        return int(ir.IntegerAttr(operand.owner.attributes["value"]).value)

    arguments = list(op.operands)[sum(segments[:ARGUMENTS]) :]
    grid = constant(GRID)
    if BLOCKS in op.attributes:
        grid = size_from(str(ir.StringAttr(op.attributes[BLOCKS]).value))
    return CudaLaunch(
        grid,
        constant(BLOCK),
        shared=constant(SHARED) if segments[SHARED] else 0,
        cluster=constant(CLUSTER) if segments[CLUSTER] else 1,
        maps=tuple(_map_of(each.owner) for each in arguments if _is_map(each)),
        programmatic=_PROGRAMMATIC in op.attributes,
        resident=_number(op.attributes[_RESIDENT]) if _RESIDENT in op.attributes else 0,
        steps=_number(op.attributes[_STEPS]) if _STEPS in op.attributes else 0,
        schedule=str(op.attributes[SCHEDULE].value) if SCHEDULE in op.attributes else "",
        sizes=tuple(size_text(each) for each in arguments if is_size(each)),
    )


def _tensor_map(memory: ir.Value, tensor: TensorMap) -> ir.Value:
    fields: dict[str, ir.Attribute] = {}
    for name, value in asdict(tensor).items():
        if isinstance(value, str):
            fields[name] = ir.StringAttr.get(value)
        else:
            numbers = value if isinstance(value, tuple) else (value,)
            fields[name] = numbers_attribute(numbers)
    del fields["argument"]  # is the operand
    return emit(_MAP, [memory], ir.Type.parse("!llvm.ptr"), **{_FIELDS: ir.DictAttr.get(fields)})


def _is_map(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and _FIELDS in owner.attributes


def _map_of(op: ir.Operation) -> TensorMap:
    held = {each.name: each.attr for each in ir.DictAttr(op.attributes[_FIELDS])}
    element = str(ir.StringAttr(held.pop("element")).value)
    argument = ir.BlockArgument(op.operands[0]).arg_number
    single = {
        name: numbers_of(value)[0] if name in _SINGLE else numbers_of(value)
        for name, value in held.items()
    }
    return TensorMap(element=element, argument=argument, **single)  # type: ignore[arg-type]


def _number(value: ir.Attribute) -> int:
    return int(ir.IntegerAttr(value).value)


def _word() -> ir.Type:
    return ir.IntegerType.get_signless(64)
