# SPDX-License-Identifier: MIT OR Apache-2.0
"""From exported programs to core ATen, one use of an operator at a time.

`programs` walks a program, and `traces` what one use of an operator is decomposed to.
"""
