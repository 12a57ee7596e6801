# SPDX-License-Identifier: MIT OR Apache-2.0
"""GPUs of any vendor, by way of WebGPU: kernels are WGSL, and wgpu runs them."""
