# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m verify.fusion`."""

import sys

from verify.fusion.command import main

if __name__ == "__main__":
    sys.exit(main())
