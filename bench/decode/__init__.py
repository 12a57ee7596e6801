# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures a decode step: one new token of a Llama-like model beside a cache of keys and values."""
