# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the array API standard's own suite on `xyntra.array`: `python -m verify.array_api FOLDER`.

FOLDER is a checkout of https://github.com/data-apis/array-api-tests with its submodule. What is
left out is listed in `SKIPPED` with the reason. What pytest needs for it (hypothesis,
pytest-json-report) may lie in folders of PYTHONPATH; further options are pytest's: `-k=sort`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = {
    "test_has_names[fft-": "the extension fft is not there",
    "test_vecdot_conj": "products of complex numbers, which are not supported",
    "real(x_i)": "special cases of complex numbers, which are not supported",
}
"""Parts of the names of tests that are left out, and why."""
PATCHES = (
    (
        "array_api_tests/dtype_helpers.py",
        "for dt in complex_dtypes], key=lambda x: x[1]\n",
        "for dt in complex_dtypes], key=lambda x: x[1], default=(None, 0)\n",
    ),
    (
        "array_api_tests/test_signatures.py",
        "cmplx_name = dh.dtype_to_name[dh.widest_complex_dtype]",
        'cmplx_name = "complex128"',
    ),
)
"""Files of the suite, and what is replaced so that it starts without complex types."""
PLUGIN = """
import pytest

SKIPPED = {skipped!r}


def pytest_collection_modifyitems(items):
    for item in items:
        for part, why in SKIPPED.items():
            if part in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=why))
"""
"""A plugin of pytest that leaves tests out."""


def main() -> int:
    """Run the suite; return the exit status of pytest."""
    parser = argparse.ArgumentParser(prog="python -m verify.array_api", description=__doc__)
    parser.add_argument("folder", type=Path, help="the checkout of array-api-tests")
    parser.add_argument("--examples", type=int, default=2, help="examples a test (2)")
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    parser.add_argument("tests", nargs="*", help="tests to run (all)")
    options, given = parser.parse_known_intermixed_args()
    with tempfile.TemporaryDirectory() as name:
        suite = Path(name) / "suite"
        shutil.copytree(options.folder, suite, ignore=shutil.ignore_patterns(".git"))
        for file, old, new in PATCHES:
            text = (suite / file).read_text(encoding="utf-8")
            if old not in text:
                print(f"{file} has not the text that is replaced: is this another version?")
                return 2
            (suite / file).write_text(text.replace(old, new), encoding="utf-8")
        (suite / "left_out.py").write_text(PLUGIN.format(skipped=SKIPPED), encoding="utf-8")
        module = (
            "exec('import xyntra.array as xp;"
            " from xyntra.targets.current import CurrentDevice;"
            f' CurrentDevice.target = "{options.target}"\')'
        )
        environment = {
            **os.environ,
            "ARRAY_API_TESTS_MODULE": "xyntra.array" if options.target == "cpu" else module,
            "ARRAY_API_TESTS_VERSION": "2024.12",
            "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
            "PYTHONPATH": os.pathsep.join([str(suite), os.getcwd(), *_given_paths()]),
        }
        tests = options.tests or ["array_api_tests"]
        command = [
            sys.executable, "-m", "pytest", *tests, *given, "-q", "--tb=short",
            "--disable-deadline", "--derandomize", f"--max-examples={options.examples}",
            "-p", "no:cacheprovider",
            "-p", "left_out", "--disable-extension", "fft",
        ]  # fmt: skip
        return subprocess.run(command, cwd=suite, env=environment, check=False).returncode


def _given_paths() -> list[str]:
    """Return the folders of PYTHONPATH, whole: the suite runs in a folder of its own."""
    return [
        os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each
    ]


if __name__ == "__main__":
    sys.exit(main())
