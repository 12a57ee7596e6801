# SPDX-License-Identifier: MIT OR Apache-2.0
"""The inputs of a model: their sizes, bound values, and who depends on them."""
