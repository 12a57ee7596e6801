# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of the transformers library, of their usual widths, with random weights, few layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from verify.free_models.network import BATCH, TEXT, Network

__all__ = ["MODELS"]

_LAYERS = 2
_BATCHES = {"batch": range(1, 17)}
_TEXTS = {"batch": range(1, 9), "seq": range(1, 513)}


class _First(nn.Module):
    """A network that is called with its inputs in order, and returns one tensor."""

    def __init__(self, inner: nn.Module, *names: str, **settings: Any) -> None:
        super().__init__()
        self.inner, self.names, self.settings = inner, names, settings

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the first output."""
        found = self.inner(**dict(zip(self.names, inputs, strict=True)), **self.settings)
        first: torch.Tensor = found[0]
        return first


def _ids(batch: int = 2, seq: int = 17) -> torch.Tensor:
    return torch.randint(5, 900, (batch, seq))


def _text(inner: nn.Module, *more: str) -> Network:
    """Return a network of tokens and a mask, and types of tokens for `more`."""
    names = ("input_ids", "attention_mask", *more)
    inputs = _ids(), torch.ones(2, 17, dtype=torch.long), *[torch.zeros_like(_ids())] * len(more)
    module = _First(inner, *names, return_dict=False)
    return Network(module, inputs, names, (TEXT,) * len(names), _TEXTS)


def bert() -> Network:
    """Return BERT-base of few layers."""
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=_LAYERS, vocab_size=1000)
    return _text(BertModel(config), "token_type_ids")


def minilm() -> Network:
    """Return a sentence encoder: the mean of what the tokens become, of length 1."""
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 12}
    config = BertConfig(num_hidden_layers=_LAYERS, vocab_size=1000, **sizes)

    class Sentences(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = BertModel(config)

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            tokens = self.inner(ids, mask, return_dict=False)[0]
            weights = mask[:, :, None].to(tokens.dtype)
            means = (tokens * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            return nn.functional.normalize(means, dim=1)

    inputs = _ids(), torch.ones(2, 17, dtype=torch.long)
    return Network(Sentences(), inputs, ("ids", "mask"), (TEXT, TEXT), _TEXTS)


def distilbert() -> Network:
    """Return DistilBERT of few layers."""
    from transformers import DistilBertConfig, DistilBertModel

    return _text(DistilBertModel(DistilBertConfig(n_layers=_LAYERS, vocab_size=1000)))


def roberta() -> Network:
    """Return RoBERTa, which counts the places of tokens that are no padding."""
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(
        num_hidden_layers=_LAYERS, vocab_size=1000, max_position_embeddings=514, type_vocab_size=1
    )
    return _text(RobertaModel(config))


def t5() -> Network:
    """Return the encoder of T5-small, whose biases follow the distance of tokens."""
    from transformers import T5Config, T5EncoderModel

    config = T5Config(
        num_layers=_LAYERS, vocab_size=1000, d_model=512, d_kv=64, d_ff=1024, num_heads=8
    )
    return _text(T5EncoderModel(config))


def gpt2() -> Network:
    """Return GPT-2 without past."""
    from transformers import GPT2Config, GPT2LMHeadModel

    inner = GPT2LMHeadModel(GPT2Config(n_layer=_LAYERS, vocab_size=1000))
    module = _First(inner, "input_ids", use_cache=False, return_dict=False)
    return Network(module, (_ids(),), ("input_ids",), (TEXT,), _TEXTS)


class _WithPast(nn.Module):
    """A decoder with the keys and values of earlier tokens as inputs, and all as outputs."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, places: torch.Tensor, *past: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Return scores of next tokens, and keys and values."""
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        found = self.inner(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=cache,
            use_cache=True,
        )
        present = found.past_key_values
        pairs = [(each.keys, each.values) for each in present.layers]
        return (found.logits, *(tensor for pair in pairs for tensor in pair))


def _decoder(inner: nn.Module, heads: int, width: int) -> Network:
    past, seq = 11, 3
    inputs = [_ids(2, seq), torch.ones(2, past + seq, dtype=torch.long)]
    inputs.append(torch.arange(past, past + seq)[None].repeat(2, 1))
    inputs += [torch.randn(2, heads, past, width) for _ in range(2 * _LAYERS)]
    names = ["input_ids", "attention_mask", "position_ids"]
    names += [f"past.{n}.{kind}" for n in range(_LAYERS) for kind in ("key", "value")]
    axes = [TEXT, {0: "batch", 1: "total"}, TEXT, *[{0: "batch", 2: "past"}] * (2 * _LAYERS)]
    dims = {"batch": range(1, 9), "seq": range(1, 65), "past": range(513), "total": "past + seq"}
    return Network(_WithPast(inner), tuple(inputs), tuple(names), tuple(axes), dims)


def gpt2_past() -> Network:
    """Return GPT-2 with past."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=_LAYERS, vocab_size=1000)
    return _decoder(GPT2LMHeadModel(config), 12, 64)


def llama_past() -> Network:
    """Return a decoder as Llama is one, with past and grouped queries."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8}
    config = LlamaConfig(num_hidden_layers=_LAYERS, vocab_size=1000, num_key_value_heads=2, **sizes)
    return _decoder(LlamaForCausalLM(config), 2, 64)


def whisper() -> Network:
    """Return the encoder of Whisper-tiny, of any batch."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    sizes = {"d_model": 384, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536}
    inner = WhisperEncoder(WhisperConfig(encoder_layers=_LAYERS, **sizes))
    module = _First(inner, "input_features", return_dict=False)
    inputs = (torch.randn(2, 80, 3000),)
    return Network(module, inputs, ("features",), (BATCH,), {"batch": range(1, 5)})


def vit() -> Network:
    """Return a ViT of any batch."""
    from transformers import ViTConfig, ViTModel

    sizes = {"hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 6}
    inner = ViTModel(ViTConfig(num_hidden_layers=_LAYERS, **sizes))
    module = _First(inner, "pixel_values", return_dict=False)
    return Network(module, (torch.randn(2, 3, 224, 224),), ("x",), (BATCH,), _BATCHES)


def clip_text() -> Network:
    """Return the text encoder of CLIP, which takes what the last token became."""
    from transformers import CLIPTextConfig, CLIPTextModel

    inner = CLIPTextModel(CLIPTextConfig(num_hidden_layers=_LAYERS, vocab_size=1000))
    names = ("input_ids", "attention_mask")
    inputs = _ids(), torch.ones(2, 17, dtype=torch.long)
    module = _First(inner, *names, return_dict=False)
    return Network(module, inputs, names, (TEXT, TEXT), {**_TEXTS, "seq": range(1, 78)})


MODELS: dict[str, Callable[[], Network]] = {
    "bert": bert,
    "minilm": minilm,
    "distilbert": distilbert,
    "roberta": roberta,
    "t5": t5,
    "gpt2": gpt2,
    "gpt2-past": gpt2_past,
    "llama-past": llama_past,
    "whisper": whisper,
    "vit": vit,
    "clip-text": clip_text,
}
"""By name."""
