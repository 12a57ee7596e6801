# SPDX-License-Identifier: MIT OR Apache-2.0
"""Long checks, run by `make verify`: what is found by trying many models and files."""
