# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recurrent networks, written out."""

from __future__ import annotations

from typing import Any

from verify.architectures.images import images, tokens
from verify.architectures.registry import Model, architecture

_OURS = "written out"


@architecture("lstm-tagger", "recurrent network", _OURS)
def _lstm_tagger() -> Model:
    return _tagger("LSTM")


@architecture("gru-tagger", "recurrent network", _OURS)
def _gru_tagger() -> Model:
    return _tagger("GRU")


@architecture("rnn-tagger", "recurrent network", _OURS)
def _rnn_tagger() -> Model:
    return _tagger("RNN")


def _tagger(cell: str) -> Model:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(100, 32)
            self.recurrent = getattr(nn, cell)(
                32, 48, num_layers=2, bidirectional=True, batch_first=True
            )
            self.head = nn.Linear(96, 12)

        def forward(self, words: Any) -> Any:
            hidden, _ = self.recurrent(self.embedding(words))
            return torch.log_softmax(self.head(hidden), -1)

    return Model(Tagger(), {"words": tokens(2, 15, 100)})


@architecture("crnn", "recurrent network", _OURS)
def _crnn() -> Model:
    """Text recognition: convolutions, then an LSTM along the width."""
    from torch import nn

    def block(before: int, after: int, pool: Any) -> nn.Sequential:
        convolution = nn.Conv2d(before, after, 3, padding=1)
        return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(pool))

    class Recognizer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            pools = ((1, 16, 2), (16, 32, 2), (32, 64, (2, 1)), (64, 64, (4, 1)))
            self.features = nn.Sequential(*(block(*pool) for pool in pools))
            self.recurrent = nn.LSTM(64, 48, num_layers=2, bidirectional=True)
            self.head = nn.Linear(96, 40)

        def forward(self, image: Any) -> Any:
            columns = self.features(image).squeeze(2).permute(2, 0, 1)
            return self.head(self.recurrent(columns)[0]).log_softmax(2)

    return Model(Recognizer(), {"image": images(2, 1, 32, 80)})


@architecture("tacotron-encoder-decoder", "recurrent network", _OURS)
def _tacotron() -> Model:
    """Speech synthesis with location-sensitive attention, eight steps of it written out."""
    import torch
    from torch import nn

    class Tacotron(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(40, 32)
            self.convolutions = nn.Sequential(
                nn.Conv1d(32, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU()
            )
            self.encoder = nn.LSTM(32, 16, bidirectional=True, batch_first=True)
            self.prenet = nn.Sequential(nn.Linear(20, 24), nn.ReLU())
            self.cell = nn.LSTMCell(24 + 32, 48)
            self.query, self.memory = nn.Linear(48, 16), nn.Linear(32, 16, bias=False)
            self.location = nn.Conv1d(1, 16, 7, padding=3, bias=False)
            self.energy = nn.Linear(16, 1)
            self.frame = nn.Linear(48 + 32, 20)
            self.stop = nn.Linear(48 + 32, 1)

        def forward(self, words: Any) -> Any:
            features = self.convolutions(self.embedding(words).transpose(1, 2)).transpose(1, 2)
            memory, _ = self.encoder(features)
            keys = self.memory(memory)
            hidden = cell = words.new_zeros((len(words), 48), dtype=torch.float32)
            frame, context, heard = hidden[:, :20], hidden[:, :32], torch.zeros_like(keys[..., 0])
            frames, stops = [], []
            for _ in range(8):
                hidden, cell = self.cell(
                    torch.cat([self.prenet(frame), context], -1), (hidden, cell)
                )
                places = self.location(heard[:, None]).transpose(1, 2)
                scores = self.energy(torch.tanh(self.query(hidden)[:, None] + keys + places))
                weights = scores.squeeze(-1).softmax(-1)
                heard = heard + weights
                context = torch.bmm(weights[:, None], memory)[:, 0]
                both = torch.cat([hidden, context], -1)
                frame = self.frame(both)
                frames.append(frame)
                stops.append(self.stop(both).sigmoid())
            return torch.stack(frames, 1), torch.cat(stops, 1), heard

    return Model(Tacotron(), {"words": tokens(2, 12, 40)})


@architecture("gru-translator", "recurrent network", _OURS)
def _gru_translator() -> Model:
    """Translation with additive attention over a bidirectional GRU."""
    import torch
    from torch import nn

    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source, self.target = nn.Embedding(80, 24), nn.Embedding(90, 24)
            self.encoder = nn.GRU(24, 32, bidirectional=True, batch_first=True)
            self.decoder = nn.GRU(24, 64, batch_first=True)
            self.attention = nn.Bilinear(64, 64, 1)
            self.head = nn.Linear(128, 90)

        def forward(self, source: Any, target: Any) -> Any:
            memory, last = self.encoder(self.source(source))
            start = last.transpose(0, 1).reshape(1, len(source), 64)
            states, _ = self.decoder(self.target(target), start.contiguous())
            shape = (len(source), target.shape[1], source.shape[1], 64)
            left = states[:, :, None].expand(shape).contiguous()
            right = memory[:, None].expand(shape).contiguous()
            weights = self.attention(left, right).squeeze(-1).softmax(-1)
            return self.head(torch.cat([states, weights @ memory], -1))

    return Model(Translator(), {"source": tokens(2, 9, 80), "target": tokens(2, 7, 90)})
