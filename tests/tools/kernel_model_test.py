#!/usr/bin/env python3
"""Occupancy and bandwidth of kernels whose answers are worked out by hand."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tools"))
from kernel_model import CARDS, facts_of, blocks_held, occupancy, share_of_peak  # noqa: E402

H100, A100 = CARDS["h100"], CARDS["a100"]


class KernelModelTest(unittest.TestCase):
    def test_registers_bound_the_blocks(self):
        # A warp of 64 registers takes 8 units of 256; a quarter holds 8 such warps, 7 of 72.
        self.assertEqual(blocks_held(H100, 256, 64, 0), 4)
        self.assertEqual(blocks_held(H100, 256, 65, 0), 3)
        self.assertEqual(blocks_held(H100, 256, 32, 0), 8)

    def test_shared_memory_bounds_the_blocks(self):
        self.assertEqual(blocks_held(H100, 128, 32, 48 << 10), 228 // 49)
        self.assertEqual(blocks_held(A100, 128, 32, 48 << 10), 164 // 49)

    def test_small_blocks_are_at_most_32(self):
        self.assertEqual(blocks_held(H100, 32, 16, 0), 32)
        self.assertEqual(occupancy(H100, 32, 16, 0), 0.5)

    def test_littles_law(self):
        # 132 · 1,024 threads with 16 bytes each in every 700 ns are 3.09 TB/s.
        self.assertAlmostEqual(share_of_peak(H100, 0.5, 16), 132 * 1024 * 16 / 700e-9 / 3.35e12)
        self.assertAlmostEqual(share_of_peak(H100, 0.5, 64), 4 * share_of_peak(H100, 0.5, 16))

    def test_facts_of_launches(self):
        self.assertEqual(
            list(facts_of("embedding/lookup/lookup_cuda.cu LookupKernel<16, true>")), [256, 0, 128]
        )
        self.assertEqual(list(facts_of("a.cu K")), [256, 0, None])


if __name__ == "__main__":
    unittest.main()
