# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles modules of transformers and timm as modules, and compares them with eager PyTorch.

`catalogue` names networks that the sweep through ONNX (`verify.architectures`) does not have; with
--all, that sweep's are taken as well. Each goes through xyntra.compile(module, inputs) and through
torch.compile(backend="xyntra") (`checking`).
"""
