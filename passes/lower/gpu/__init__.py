# SPDX-License-Identifier: MIT OR Apache-2.0
"""What lowering for any GPU shares."""
