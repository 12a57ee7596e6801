# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hostile files: models and saved models that try to leave their memory."""
