# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expands functions of f64 for targets without a C library, such as GPUs.

The methods are those of the f32 functions beside this folder. Coefficients are those of Taylor
series, cut off where a term no longer changes the result, except for erf and erfc. Contraction is
harmless in all of them; reassociation is not.
"""
