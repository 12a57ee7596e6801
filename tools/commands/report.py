# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra --report`: what somebody who looks into a problem has to know of this machine."""

from __future__ import annotations

import argparse
import os
from typing import Any


class ReportAction(argparse.Action):
    """Prints the report and ends the program, as `--version` does."""

    def __init__(self, option_strings: Any, dest: str, **known: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **known)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print a line for each version, device and setting."""
        print("\n".join(report_lines()))
        parser.exit()


def report_lines() -> list[str]:
    """Return versions, devices and what the environment sets, without private paths."""
    from xyntra.observe.environment import settings, versions
    from xyntra.targets.table import backends

    lines = []
    for backend in backends():
        found = backend.devices()
        lines += [f"{name}: {device.summary}" for name, device in found.items()]
        if not found:
            lines.append(f"{backend.name}: none ({backend.no_device_reason()})")
    return [*versions(), *lines, *settings(os.environ)]
