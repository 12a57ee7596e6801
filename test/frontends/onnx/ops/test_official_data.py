# SPDX-License-Identifier: MIT OR Apache-2.0
"""The onnx package's own tests of the operators that compute elementwise or move data."""

from __future__ import annotations

import pytest
from official import failures

MODULES = """
abs acos acosh add affinegrid and_ argmax argmin asin asinh atan atanh bitcast bitshift bitwiseand
bitwisenot bitwiseor bitwisexor blackmanwindow cast castlike ceil center_crop_pad concat
constant constantofshape cos cosh cumprod cumsum depthtospace det div equal erf exp expand eyelike
flatten floor gather gatherelements gathernd greater greater_or_equal gridsample hammingwindow
hannwindow hardmax isinf isnan less less_or_equal log max mean melweightmatrix min
mod mul neg not_ onehot or_ pad pow rangeop reciprocal reduce_log_sum reduce_log_sum_exp
reducel1 reducel2 reducemax reducemean reducemin reduceprod reducesum reducesumsquare reshape
reversesequence round scan scatter scatterelements scatternd shape sign sin sinh size slice
spacetodepth split sqrt squeeze stft sub sum tan tanh tensorscatter tile topk transpose trilu
unsqueeze where xor
""".split()

REFUSED: dict[str, dict[str, str]] = {
    "not_": {f"test_not_{rank}d": "opset-unsupported" for rank in (2, 3, 4)},
    "scan": {"test_scan_sum": "operator-unsupported"},
}


@pytest.mark.parametrize("module", MODULES)
def test_official_cases(module: str) -> None:
    assert list(failures(module, REFUSED.get(module, {}))) == []
