# SPDX-License-Identifier: MIT OR Apache-2.0
"""naga, which translates SPIR-V to WGSL and checks both, as a WebAssembly module."""
