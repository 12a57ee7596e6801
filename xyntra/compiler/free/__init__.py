# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models with free dimensions: compiled once, for all sizes of a range.

`samples` chooses sizes at which the model is taken down to kernels, `agreement` finds the
expressions of sizes in the plans, and `artifact` compiles kernels that are told their sizes.
"""
