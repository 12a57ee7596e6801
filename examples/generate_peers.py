# SPDX-License-Identifier: MIT OR Apache-2.0
"""Generates with the same model in onnxruntime, and with one of its sizes in PyTorch.

PyTorch has no weights of the ONNX model: its own are random, and only its speed is of interest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Tokens = Sequence[Sequence[int]]


def compare(
    folder: Path, config: dict[str, Any], prompts: Tokens, tokens: int, expected: Tokens | None
) -> None:
    """Print tokens per second, and whether onnxruntime writes what is `expected`."""
    for name, steps in {
        "onnxruntime": lambda: _onnxruntime(folder, prompts, tokens),
        "PyTorch eager": lambda: _pytorch(config, prompts, tokens),
    }.items():
        try:
            clock, written = [], []
            for chosen in steps():
                clock.append(time.perf_counter())
                written.append(chosen)
        except Exception as error:  # a peer may not be there, or not take the model
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            continue
        rate = len(prompts) * (len(clock) - 1) / (clock[-1] - clock[0])
        same = ""
        if name == "onnxruntime" and expected is not None:
            found = np.array(written).T.tolist()
            length = min(len(found[0]), len(expected[0]))
            equal = all(
                a[:length] == list(b[:length]) for a, b in zip(found, expected, strict=True)
            )
            same = ", the same text" if equal else ", another text"
        print(f"{name}: {rate:.1f} tokens per second{same}")


def _onnxruntime(folder: Path, prompts: Tokens, tokens: int) -> Iterator[Array]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    names = [each.name for each in session.get_inputs()]
    pasts = [each for each in session.get_inputs() if each.name.startswith("past_key_values.")]
    dtype = {"tensor(float)": np.float32, "tensor(float16)": np.float16}[pasts[0].type]
    count = np.array([len(each) for each in prompts])
    rows = np.arange(len(prompts))
    ids = np.zeros((len(prompts), count.max()), np.int64)
    for row, each in enumerate(prompts):
        ids[row, : len(each)] = each
    # Sequences of different lengths need caches of one size that are shared, as ours are.
    room = int(count.max()) + tokens
    shape = (len(prompts), pasts[0].shape[1], room, pasts[0].shape[3])
    caches = {
        each.name: onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, dtype))
        for each in pasts
    }
    before = np.zeros_like(count)
    for _ in range(tokens):
        filled = np.arange(room) < (before + count)[:, None]
        given = {
            "input_ids": ids,
            "attention_mask": filled[:, : int((before + count).max())].astype(np.int64),
            "position_ids": before[:, None] + np.arange(ids.shape[1]),
        }
        binding = session.io_binding()
        for name, array in given.items():
            if name in names:
                binding.bind_cpu_input(name, array)
        for name, value in caches.items():
            binding.bind_ortvalue_input(name, value)
            binding.bind_ortvalue_output(name.replace("past_key_values", "present"), value)
        binding.bind_output("logits")
        session.run_with_iobinding(binding)
        logits = binding.get_outputs()[-1].numpy()  # in the order in which they were bound
        chosen = logits[rows, count - 1].argmax(-1)
        yield chosen
        before, count, ids = before + count, np.ones_like(count), chosen[:, None].astype(np.int64)


def _pytorch(config: dict[str, Any], prompts: Tokens, tokens: int) -> Iterator[Array]:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    own = {name: value for name, value in config.items() if name != "model_type"}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **own))
    model = model.eval()
    longest = max(map(len, prompts))
    ids = torch.zeros(len(prompts), longest, dtype=torch.long)
    cache = None
    with torch.inference_mode():
        for _ in range(tokens):
            result = model(input_ids=ids, past_key_values=cache, use_cache=True)
            cache, ids = result.past_key_values, result.logits[:, -1:].argmax(-1)
            yield ids[:, 0].numpy()
