# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compile --emit ptx`: one file for each kernel."""

from __future__ import annotations

from pathlib import Path

from xyntra.errors import UnsupportedError
from xyntra.executable import Executable


def write_ptx(executable: Executable, output: str | None) -> list[Path]:
    """Write the PTX of every kernel to `NAME.ptx` in the folder `output`, the current one if None.

    A comment at the head of each file names the kernel's launches.

    Raises:
        UnsupportedError: the executable is not for NVIDIA GPUs.
        ArchiveError: a file cannot be written.
    """
    from xyntra.plan.files import make_folder, replace_file
    from xyntra.targets.cuda.code.kernel_image import KernelImage

    if not executable.artifact.target.startswith("cuda;"):
        raise UnsupportedError(
            "ptx-target",
            "only kernels for NVIDIA GPUs have PTX",
            hint="--target cuda, or --target cuda:sm_90a where there is no GPU",
        )
    folder = Path(output or ".")
    make_folder(folder)
    written = []
    for name, code in sorted(executable.artifact.objects.items()):
        image = KernelImage.from_bytes(code)
        if not image.launches:
            continue
        head = [f"// {each.entry}: {each.grid} x {each.block} threads" for each in image.launches]
        written.append(folder / f"{name}.ptx")
        replace_file(written[-1], ["\n".join([*head, image.ptx]).encode()])
    return written
