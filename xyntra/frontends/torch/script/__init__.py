# SPDX-License-Identifier: MIT OR Apache-2.0
"""From TorchScript to a module that `torch.export` can trace.

`module` wraps a ScriptModule, whose graph `interpreter` walks node by node: lists, dictionaries,
attributes and control flow are resolved on the way, and tensor operators are called one by one.
`archive` checks files of TorchScript and needs no torch; the rest imports it.
"""
