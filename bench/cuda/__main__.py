# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m bench.cuda`."""

import sys

from bench.cuda.command import main

if __name__ == "__main__":
    sys.exit(main())
