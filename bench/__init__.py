# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures Xyntra beside its peers. Run the scripts from the root of a clone.

`harness` is what every measurement stands on; `documents` writes the tables of the documents. What
is checked at length instead of timed is in `verify`.
"""
