# SPDX-License-Identifier: MIT OR Apache-2.0
"""RNN, LSTM and GRU."""
