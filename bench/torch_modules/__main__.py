# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the command: `python -m bench.torch_modules`."""

import sys

from bench.torch_modules.command import main

if __name__ == "__main__":
    sys.exit(main())
