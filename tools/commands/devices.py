# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra devices`: where models can run on this machine."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    commands.add_parser(name, help="list the devices of this machine")


def run(options: argparse.Namespace) -> int:
    """Print every device with what the compiler knows of it."""
    from xyntra.api import devices

    for number, device in enumerate(devices()):
        print(f"cuda:{number - 1}" if number else "cpu")
        for name, value in vars(device).items():
            print(f"  {name}: {value}")
    return 0
