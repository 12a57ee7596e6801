# SPDX-License-Identifier: MIT OR Apache-2.0
"""What passes ask of the IR and do with it, whatever it computes.

Who made a value, who reads it, what is nested.
"""
