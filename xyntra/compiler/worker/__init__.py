# SPDX-License-Identifier: MIT OR Apache-2.0
"""The processes that compile: requests go in, artifacts or typed errors come out."""
