#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prints the first Python that can make our environment. A name on the PATH is not enough: it may
# be a launcher for a version that is not there, or a system Python without ensurepip.
set -eu
for name in ${PYTHON:-} python3 python3.12 python3.11 python3.13; do
    if "$name" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
        >/dev/null 2>&1; then
        echo "$name"
        exit 0
    fi
done
echo "No usable Python 3.11, 3.12 or 3.13 (with venv and ensurepip) is on the PATH." >&2
echo "Install one (on Debian also python3-venv), or name it: make PYTHON=/path/to/python" >&2
exit 1
