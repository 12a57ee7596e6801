# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fine-tunes a small BERT with Hugging Face's Trainer and torch_compile_backend="xyntra".

    python -m verify.torch_trainer [--steps 20] [--processes 2]

The losses of all steps are compared with those of the same Trainer without a compiler, and have to
be within 1e-3 of them. Several processes train one model by DistributedDataParallel and gloo. It
needs transformers and accelerate; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any

import torch

from verify.architectures.libraries import import_libraries

_WORDS, _LENGTH, _CLASSES = 200, 24, 3


def losses(backend: str | None, steps: int) -> list[float]:
    """Return the losses of some steps of training, whose weights and data are always the same."""
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    torch._dynamo.reset()
    torch.manual_seed(0)
    settings = BertConfig(
        vocab_size=_WORDS,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=40,
        num_labels=_CLASSES,
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            max_steps=steps,
            learning_rate=1e-3,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo" if "RANK" in os.environ else None,
            disable_tqdm=True,
            torch_compile=backend is not None,
            torch_compile_backend=backend,
        )
        model = BertForSequenceClassification(settings)
        trainer = Trainer(model=model, args=arguments, train_dataset=_data())
        trainer.train()
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def _data() -> list[dict[str, Any]]:
    """Sequences whose label says in which third of the words most of theirs lie."""
    generator = torch.Generator().manual_seed(1)
    found = []
    for number in range(64):
        label = number % _CLASSES
        tokens = torch.randint(0, _WORDS, (_LENGTH,), generator=generator)
        own = torch.randint(0, _WORDS // _CLASSES, (_LENGTH,), generator=generator)
        chosen = torch.rand(_LENGTH, generator=generator) < 0.5
        tokens = torch.where(chosen, own + label * (_WORDS // _CLASSES), tokens)
        found.append({"input_ids": tokens, "labels": label})
    return found


def main() -> int:
    """Train twice; return 1 if the losses come apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1, help="that train one model")
    options = parser.parse_args()
    if options.processes > 1 and "RANK" not in os.environ:
        return _together(options.processes)
    import_libraries(("torch", "transformers"))
    from xyntra.integrations.accelerate import add_backend
    from xyntra.integrations.torch_compile import backend

    calls = Counter[str]()

    def counted(module: Any, inputs: Any, **options: Any) -> Any:
        call = backend(module, inputs, **options)
        calls["graphs"] += 1

        def run(*arguments: Any) -> Any:
            calls["calls"] += 1
            return call(*arguments)

        return run

    add_backend()
    torch._dynamo.register_backend(counted, "xyntra")
    eager, ours = losses(None, options.steps), losses("xyntra", options.steps)
    apart = max(abs(a - b) / max(abs(b), 1e-2) for a, b in zip(ours, eager, strict=True))
    print(
        f"losses {ours[0]:.4f} to {ours[-1]:.4f} in {len(ours)} steps, {calls['graphs']} graphs "
        f"called {calls['calls']} times, {apart:.1e} from eager's"
    )
    if options.processes > 1:
        torch.distributed.barrier()  # gloo aborts a process whose peer leaves first
        torch.distributed.destroy_process_group()
    return (
        0 if calls["calls"] >= options.steps and len(ours) == options.steps and apart < 1e-3 else 1
    )


def _together(count: int) -> int:
    """Run this command in several processes that know of each other; return the worst status."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    command = [sys.executable, "-m", "verify.torch_trainer", *sys.argv[1:]]
    started = []
    for rank in range(count):
        own = {**os.environ, **meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        started.append(subprocess.Popen(command, env=own))
    return max(abs(each.wait()) for each in started)


if __name__ == "__main__":
    sys.exit(main())
