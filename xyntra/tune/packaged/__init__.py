# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schedules that come with the package: a file for each class of devices."""
