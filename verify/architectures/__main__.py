# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m verify.architectures`."""

import sys

from verify.architectures.command import main

sys.exit(main())
