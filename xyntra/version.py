# SPDX-License-Identifier: MIT OR Apache-2.0
"""The version, in the one place that packaging reads it from too."""

VERSION = "0.1.0"
