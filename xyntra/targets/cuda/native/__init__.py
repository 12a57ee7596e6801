# SPDX-License-Identifier: MIT OR Apache-2.0
"""Native code that starts calls on a GPU, compiled with a model and called as Python's builtins."""
