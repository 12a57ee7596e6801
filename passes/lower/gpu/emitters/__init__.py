# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines emitters and schedules of stages: how one is chosen, checked and carried out.

An emitter makes the code of one thread for stages of one family (attention, contractions, nests,
other loops), as its choices say. The families of a target are in its own `emitters/table.py`.
"""
