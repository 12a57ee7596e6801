# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every emitter of a GPU of which nothing more is known, by the family of stages it is for."""

from __future__ import annotations

from xyntra.passes.lower.gpu.emitters.attentions import ATTENTIONS
from xyntra.passes.lower.gpu.emitters.contractions import CONTRACTIONS
from xyntra.passes.lower.gpu.emitters.families import Families
from xyntra.passes.lower.gpu.emitters.loops import LOOPS
from xyntra.passes.lower.gpu.emitters.nests import nests_family

FAMILIES: Families = (ATTENTIONS, CONTRACTIONS, nests_family(), LOOPS)
