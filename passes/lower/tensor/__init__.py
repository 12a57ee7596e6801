# SPDX-License-Identifier: MIT OR Apache-2.0
"""What happens to a kernel before it has buffers: named ops taken apart, loops merged."""
