# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread pool of this process."""
