# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions and convolutions on Hopper's tensor cores.

Warpgroups fed by TMA through a ring of stages.
"""
