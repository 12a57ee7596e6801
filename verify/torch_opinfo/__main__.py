# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the command: `python -m verify.torch_opinfo`."""

import sys

from verify.torch_opinfo.command import main

if __name__ == "__main__":
    sys.exit(main())
