# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a decoder with weights of 4 bits by llama.cpp, where llama-cpp-python and gguf are."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.decode.packed_weights import PackedMatrix
from bench.decode.size import BASE, Decoder
from bench.ggml_products import q4_0

__all__ = ["LlamaCppDecoder", "write_gguf"]

Array = np.ndarray[Any, Any]
_EPSILON = 1e-5
_NAMES = {
    "norm1": "attn_norm", "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output",
    "norm2": "ffn_norm", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip
_WHOLE = {"norm": "output_norm", "head": "output"}


def write_gguf(decoder: Decoder, weights: Mapping[str, Array | PackedMatrix], path: Path) -> None:
    """Write the decoder to `path`, matrices as Q4_0."""
    from gguf import GGMLQuantizationType, GGUFWriter

    writer = GGUFWriter(path, "llama")
    writer.add_context_length(1 << 14)
    writer.add_embedding_length(decoder.hidden)
    writer.add_block_count(decoder.layers)
    writer.add_feed_forward_length(decoder.inner)
    writer.add_head_count(decoder.heads)
    writer.add_head_count_kv(decoder.groups)
    writer.add_rope_dimension_count(decoder.size)
    writer.add_rope_freq_base(BASE)
    writer.add_layer_norm_rms_eps(_EPSILON)
    writer.add_vocab_size(decoder.vocabulary)
    writer.add_tokenizer_model("no_vocab")
    writer.add_tensor(
        "token_embd.weight", np.zeros((decoder.vocabulary, decoder.hidden), np.float16)
    )
    for name, weight in weights.items():
        number, _, own = name.rpartition(".")
        to = f"blk.{number}.{_NAMES[own]}" if number else _WHOLE[name]
        if not isinstance(weight, PackedMatrix):
            writer.add_tensor(f"{to}.weight", weight.astype(np.float32))
            continue
        blocks = q4_0(weight.integers, weight.scales)
        rows = blocks.reshape(len(blocks), -1)
        if own in ("q", "k"):
            rows = _interleaved(rows, decoder.size)
        writer.add_tensor(f"{to}.weight", rows, raw_dtype=GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _interleaved(rows: Array, size: int) -> Array:
    """Return the rows of heads so that the two elements that are turned together are neighbours."""
    halves = rows.reshape(-1, 2, size // 2, rows.shape[-1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(rows.shape)


class LlamaCppDecoder:
    """A sequence that grows by a position with every step.

    Args:
        path: what `write_gguf` wrote.
        decoder: its sizes.
        room: positions that the caches hold.
        threads: how many compute.
    """

    def __init__(self, path: Path, decoder: Decoder, room: int, threads: int) -> None:
        import llama_cpp

        self._library, self._decoder, self._position = llama_cpp, decoder, 0
        llama_cpp.llama_log_set(_SILENT, ctypes.c_void_p(None))
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(
            str(path).encode(), llama_cpp.llama_model_default_params()
        )
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_ubatch = room, 8, 8
        settings.n_threads = settings.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, settings)
        if not self._context:
            raise RuntimeError("llama.cpp does not take the model")
        self._batch = llama_cpp.llama_batch_init(1, decoder.hidden, 1)

    def step(self, x: Array) -> Array:
        """Return the logits for one more position, [vocabulary]."""
        batch = self._batch
        batch.n_tokens, batch.pos[0], batch.n_seq_id[0] = 1, self._position, 1
        batch.seq_id[0][0], batch.logits[0] = 0, 1
        ctypes.memmove(batch.embd, np.ascontiguousarray(x, np.float32).ctypes.data, x.size * 4)
        if self._library.llama_decode(self._context, batch):
            raise RuntimeError("llama.cpp could not decode")
        self._position += 1
        logits = self._library.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(logits, (self._decoder.vocabulary,)).copy()


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def _SILENT(level: int, text: bytes, data: int) -> None:  # noqa: N802
    return None
