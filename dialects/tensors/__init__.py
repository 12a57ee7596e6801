# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a `TensorBuilder` builds of whole tensors: convolutions, poolings, slices, sorting."""
