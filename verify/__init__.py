# SPDX-License-Identifier: MIT OR Apache-2.0
"""Large comparisons with references and other runtimes. Run them from the root of a clone."""
