# SPDX-License-Identifier: MIT OR Apache-2.0
"""Serves a folder as any static server does, and spoils answers on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

__all__ = ["Fault", "Site", "served"]

Fault = Literal["missing", "damaged", "truncated", "longer", "stalled", "slow"]


@dataclass
class Site:
    """A folder that is served.

    Attributes:
        address: of the folder, with "/" at the end.
        faults: what is done to files whose path contains a text.
        requests: paths that were asked for.
        released: stalled answers wait for it.
        headers: what every answer says besides.
    """

    address: str
    faults: dict[str, Fault] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    headers: Mapping[str, str] = field(default_factory=dict)


class _Handler(SimpleHTTPRequestHandler):
    """Answers from the folder, or with a fault."""

    def __init__(self, *args: object, site: Site, **given: object) -> None:
        self._site = site
        super().__init__(*args, **given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._site.requests.append(self.path)
        wanted = next((f for text, f in self._site.faults.items() if text in self.path), None)
        path = Path(self.translate_path(self.path))
        if wanted is None or not path.is_file():
            super().do_GET()
        elif wanted == "missing":
            self.send_error(404)
        else:
            self._spoilt(path.read_bytes(), wanted)

    def end_headers(self) -> None:
        for name, value in self._site.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def _spoilt(self, data: bytes, fault: Fault) -> None:
        if fault == "damaged":
            middle = len(data) // 2
            data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        elif fault == "truncated":
            data = data[: len(data) // 2]
        elif fault == "longer":
            data += bytes(1000)
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if fault not in ("stalled", "slow"):
            self.wfile.write(data)
            return
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self._site.released.wait(120)
        if fault == "slow":
            self.wfile.write(data[len(data) // 2 :])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Let browsers hang up when they like."""


@contextmanager
def served(folder: Path, port: int = 0, headers: Mapping[str, str] | None = None) -> Iterator[Site]:
    """Serve a folder on this machine while the block runs."""
    site = Site("", headers=headers or {})
    handler = partial(_Handler, site=site, directory=str(folder))
    with _Server(("127.0.0.1", port), handler) as server:
        site.address = f"http://localhost:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.released.set()
            server.shutdown()
            thread.join()
