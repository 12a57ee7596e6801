# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CPU target: object code through llvmlite, loaded and replayed in this process.

Modules are imported by name; nothing here imports llvmlite or MLIR before it is needed.
"""
