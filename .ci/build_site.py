# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the site of the documents: `python .ci/build_site.py [mkdocs options]`.

The pages of the checkout link to one another as GitHub needs it: README and its neighbours lie
above docs/. The site has them side by side, README as its first page, so that links are rewritten
on the way into build/pages. mkdocs is strict: a link that leads nowhere is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "pages"
ABOVE = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")
REFERENCE = """# Python reference

What `import xyntra` has. The settings are listed in [Configuration](configuration.md).

::: xyntra.api

::: xyntra.executable.Executable

::: xyntra.errors
"""


def from_above(text: str) -> str:
    """Return the text of a page of the checkout's root with the links of the site."""
    return re.sub(r"\]\(docs/", "](", text).replace("](README.md", "](index.md")


def from_docs(text: str) -> str:
    """Return the text of a page of docs/ with the links of the site."""
    outside = r"\]\((?:\.\./)+((?:" + "|".join(map(re.escape, ABOVE)) + r")[^)]*)\)"
    return re.sub(outside, r"](\1)", text)


def main(options: list[str]) -> int:
    """Put the pages together and run mkdocs; returns its exit status."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    for page in PAGES.glob("*.md"):
        page.write_text(from_docs(page.read_text("utf-8")), "utf-8")
    for name in ABOVE:
        (PAGES / name).write_text(from_above((ROOT / name).read_text("utf-8")), "utf-8")
    (PAGES / "index.md").write_text(from_above((ROOT / "README.md").read_text("utf-8")), "utf-8")
    (PAGES / "reference.md").write_text(REFERENCE, "utf-8")
    for name in LICENSES:
        shutil.copy(ROOT / name, PAGES)
    command = [sys.executable, "-m", "mkdocs", "build", *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
