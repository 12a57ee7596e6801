# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m bench.cpu`."""

import sys

from bench.cpu.command import main

if __name__ == "__main__":
    sys.exit(main())
