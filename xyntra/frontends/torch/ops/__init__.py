# SPDX-License-Identifier: MIT OR Apache-2.0
"""Importers of ATen operators, a file for each family; `operator_modules` lists them."""
