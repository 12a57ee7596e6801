# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured, against whom. Run the scripts from the root of a clone."""
