# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every emitter for NVIDIA GPUs, by the family of stages that it makes code for."""

from __future__ import annotations

from xyntra.passes.lower.cuda.emitters.attentions import ATTENTIONS
from xyntra.passes.lower.cuda.emitters.contractions import CONTRACTIONS
from xyntra.passes.lower.cuda.launches import CudaLaunching
from xyntra.passes.lower.cuda.row_extras import EXTRAS
from xyntra.passes.lower.gpu.emitters.families import Families
from xyntra.passes.lower.gpu.emitters.loops import LOOPS
from xyntra.passes.lower.gpu.emitters.nests import nests_family

LAUNCHING = CudaLaunching()
FAMILIES: Families = (ATTENTIONS, CONTRACTIONS, nests_family(EXTRAS), LOOPS)
