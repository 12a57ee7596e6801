# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drives a headless Chromium over exported models."""
