# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts the page together: one file that needs nothing else and may run nothing else.

Models are untrusted. Their strings are in one block of JSON, in which every character that HTML
could read is escaped, and the script only ever sets text. The page's policy lets a browser run this
script, by its hash, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files

from xyntra.observe.colours import KIND_COLOURS
from xyntra.observe.page.content import page_content
from xyntra.plan.plan import Plan
from xyntra.plan.source_graph import SourceGraph

_SCRIPTS = ("format.js", "graph.js", "sidebar.js", "table.js", "main.js")
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def page(
    plan: Plan, graph: SourceGraph, nanoseconds: Sequence[int] | None = None, title: str = ""
) -> str:
    """The page as text, ASCII but for what is written here.

    Args:
        plan: the plan of the compiled model.
        graph: the graph before fusion.
        nanoseconds: measured time of each kernel of a call, from `Executable.time_kernels`.
        title: name of the model.
    """
    script = "\n".join(['"use strict";', *map(_read, _SCRIPTS)])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head, body = _read("page.html").split("<!-- head -->")
    content = {**page_content(plan, graph, nanoseconds, title), "colours": KIND_COLOURS}
    return "".join(
        [
            head,
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            f"<title>{html.escape(title or 'model')} · fusion</title>\n",
            f"<style>\n{_read('page.css')}</style>\n",
            body,
            f'<script type="application/json" id="content">{embedded_json(content)}</script>\n',
            f"<script>{script}</script>\n",
        ]
    )


def embedded_json(content: object) -> str:
    """`content` as ASCII JSON that is safe inside a script element."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
