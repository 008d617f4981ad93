"""What registers, shared memory and bytes in flight allow a kernel on GPUs that are sold.

A multiprocessor of sm_80 or sm_90 holds 2,048 threads, 32 blocks and 64 Ki registers in quarters (a
warp takes its registers in units of 256, from one quarter); a block takes 1 KiB of shared memory
more than it asks for (CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability").
"""

import re
from collections import namedtuple

# name; multiprocessors; KiB of shared memory on each; bytes per second of its memory; architecture.
# Multiprocessors and memory are those of NVIDIA's data sheets of the card, shared memory that of
# the Programming Guide.
Card = namedtuple("Card", "name multiprocessors shared_kib peak architecture")
CARDS = {
    "h200": Card("H200", 132, 228, 4.8e12, "90"),
    "h100": Card("H100 SXM", 132, 228, 3.35e12, "90"),
    "a100": Card("A100 80GB", 108, 164, 2.0e12, "80"),
}
LATENCY = 700e-9  # of a load from memory, under load
THREADS_OF_MULTIPROCESSOR, BLOCKS_OF_MULTIPROCESSOR, REGISTERS_OF_QUARTER = 2048, 32, 16384


DEFAULT_THREADS = 256

# Kernels by a pattern of "source name", the first that fits: threads a block, dynamic shared memory
# a block, and the bits of the loads that bring its rows, whose bytes in flight sass.py tells.
FACTS = [
    (r"lookup/lookup_cuda.cu LookupKernel", 256, 0, 128),
    (r"quantized_lookup_cuda.cu QuantizedSumKernel<7", 256, 0, 64),  # 16 codes of 4 bits
    (r"quantized_lookup_cuda.cu QuantizedSumKernel<8", 256, 0, 32),
    (r"quantized_lookup_cuda.cu Quantized", 256, 0, 128),
    (r"update_rule_cuda.cu UpdateRegisterRowsKernel", 128, 46336, 128),
    (r"update_rule_cuda.cu UpdateRowsKernel<4", 256, 8 * 4 * 2 * 128, 128),
    (r"update_rule_cuda.cu UpdateRowsKernel<1", 256, 8 * 4 * 2 * 128, None),
    (r"update_cuda.cu SumChunksKernel<4, unsigned short", 256, 0, 64),
    (r"update_cuda.cu SumChunksKernel<1, unsigned short", 256, 0, 16),
    (r"update_cuda.cu SumChunksKernel<4", 256, 0, 128),
    (r"update_cuda.cu SumChunksKernel<1", 256, 0, 32),
    (r"update_cuda.cu FoldChunksKernel", 128, 0, 32),
    (r"occurrences_cuda.cu SmallKernel", 1024, 0, None),
    (r"interaction_cuda.cu", 128, 0, None),
]


def facts_of(kernel):
    """Threads a block, bytes of dynamic shared memory, bits of the loads of rows (or None)."""
    found = next((facts for pattern, *facts in FACTS if re.search(pattern, kernel)), None)
    return found or (DEFAULT_THREADS, 0, None)


def blocks_held(card, threads, registers, shared):
    """By a multiprocessor, of so many threads and bytes of shared memory each."""
    of_warp = -(-registers * 32 // 256) * 256
    by_registers = 4 * (REGISTERS_OF_QUARTER // of_warp) // -(-threads // 32)
    by_shared = (card.shared_kib << 10) // (shared + 1024)
    return min(
        BLOCKS_OF_MULTIPROCESSOR, THREADS_OF_MULTIPROCESSOR // threads, by_registers, by_shared
    )


def occupancy(card, threads, registers, shared):
    """The share of the threads that a multiprocessor can hold."""
    return blocks_held(card, threads, registers, shared) * threads / THREADS_OF_MULTIPROCESSOR


def bytes_a_second(card, occupied, bytes_in_flight):
    """Little's law: memory delivers what all threads have asked for in every latency."""
    resident = card.multiprocessors * occupied * THREADS_OF_MULTIPROCESSOR
    return resident * bytes_in_flight / LATENCY


def share_of_peak(card, occupied, bytes_in_flight):
    """Above 1 where latency is no obstacle."""
    return bytes_a_second(card, occupied, bytes_in_flight) / card.peak
