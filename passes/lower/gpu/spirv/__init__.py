# SPDX-License-Identifier: MIT OR Apache-2.0
"""From the `gpu` dialect to SPIR-V."""
