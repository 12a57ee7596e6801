# SPDX-License-Identifier: MIT OR Apache-2.0
"""Empty: the ops register when the dialect is loaded.

Without a module of this name the bindings would search for one each time they see an op of ours.
"""
