# SPDX-License-Identifier: MIT OR Apache-2.0
"""From a model to an artifact: every level in order, in a process of its own.

`driver` is where a call arrives, `inputs` opens what it was given, `worker` has the processes,
`levels` takes a model down, and `kernels` compiles each kernel in a child process.
"""
