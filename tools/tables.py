# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints tables: by rich on a terminal, where it is installed, else as aligned text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xyntra.observe.text import aligned

__all__ = ["print_table"]


def print_table(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> None:
    """Print a heading and lines; columns are of numbers but for those of `left`."""
    columns = len(rows[0])
    text = {number % columns for number in left}
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            pass
        else:
            table = Table()
            for number, name in enumerate(rows[0]):
                table.add_column(name, justify="left" if number in text else "right")
            for row in rows[1:]:
                table.add_row(*map(Text, row))
            Console().print(table)
            return
    right = tuple(number for number in range(columns) if number not in text)
    print("\n".join(aligned(rows, right)))
