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
    from xyntra.api import devices
    from xyntra.targets.cuda.driver.device import no_device_reason

    found = devices()
    for number, device in enumerate(found):
        known = vars(device)
        print("cuda:{ordinal}: ".format(**known) if number else "cpu: ", device.summary, sep="")
        for name, value in known.items() if options.verbose else ():
            print(f"  {name}: {value}")
    if len(found) == 1:
        print(f"cuda: none ({no_device_reason()})")
    return 0
