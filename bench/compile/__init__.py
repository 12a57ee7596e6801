# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long compiling and starting take, each in processes of its own."""
