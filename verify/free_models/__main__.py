# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m verify.free_models`."""

import sys

from verify.free_models.command import main

if __name__ == "__main__":
    sys.exit(main())
