# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX models: `file` reads them without their weights, `importer` builds linalg from them.

`ops` has the importers of operators, a folder for each kind; `folding` evaluates what is known at
import, `control` imports operators that hold graphs, and `inputs` binds what a user gives.
"""
