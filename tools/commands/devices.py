# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra devices`: where models can run on this machine."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="list the devices of this machine")
    parser.add_argument(
        "--verbose", action="store_true", help="all that the compiler knows of each device"
    )


def run(options: argparse.Namespace) -> int:
    """Print a line for every device, or all that the compiler knows of it."""
    from xyntra.targets.table import backends

    for backend in backends():
        found = backend.devices()
        for name, device in found.items():
            print(f"{name}: {device.summary}")
            for attribute, value in vars(device).items() if options.verbose else ():
                print(f"  {attribute}: {value}")
        if not found:
            print(f"{backend.name}: none ({backend.no_device_reason()})")
    return 0
