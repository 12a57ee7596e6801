# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a compiled model as a folder that runs it in a browser.

The files beside the Python ones are those of every such page. They are built from the package in
`web/` at the top of the repository.
"""
