# SPDX-License-Identifier: MIT OR Apache-2.0
"""What turns lowered kernels into code that runs, one folder a target."""
