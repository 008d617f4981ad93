// A radix sort of three launches a digit, from the lowest on: blocks count the digits of their
// tiles, the counts of all tiles are summed up (by the library's scan), and blocks bring their
// tiles' occurrences to where those of their digit begin. A tile's occurrences keep their order: in
// a warp by ballots, warps and rounds one after another. A pass reads keys twice; CUB, by which the
// library sorts, passes over memory once a digit, as its blocks tell each other their sums.
#include <cstdint>
#include <utility>

#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/algorithms.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr int kThreads = 256, kWarp = 32, kWarps = kThreads / kWarp;
constexpr int64_t kTile = 4 * kThreads;

// The counts and places have the order [digit][tile].
struct Pass {
  CudaGrouped from, to;
  int64_t size;
  int shift;
};

template <int kBits>
__device__ __forceinline__ int DigitOf(const Pass& pass, uint32_t key) {
  return static_cast<int>(key >> pass.shift & ((1u << kBits) - 1));
}

template <int kBits>
__global__ void __launch_bounds__(kThreads) CountDigits(Pass pass, int32_t* counts) {
  constexpr int kDigits = 1 << kBits;
  __shared__ int32_t own[kDigits];
  const int self = static_cast<int>(threadIdx.x);
  for (int digit = self; digit < kDigits; digit += kThreads) own[digit] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * kTile;
  for (int64_t i = begin + self; i < begin + kTile && i < pass.size; i += kThreads)
    atomicAdd(&own[DigitOf<kBits>(pass, pass.from.keys[i])], 1);
  __syncthreads();
  for (int digit = self; digit < kDigits; digit += kThreads)
    counts[int64_t{digit} * gridDim.x + blockIdx.x] = own[digit];
}

// The lanes whose occurrence is one and has the same digit.
template <int kBits>
__device__ __forceinline__ unsigned LanesAlike(bool is_one, int digit) {
  unsigned alike = __ballot_sync(~0u, is_one);
  for (int bit = 0; bit < kBits; ++bit) {
    const bool is_set = (digit >> bit & 1) != 0;
    const unsigned set = __ballot_sync(~0u, is_set);
    alike &= is_set ? set : ~set;
  }
  return alike;
}

template <int kBits>
__global__ void __launch_bounds__(kThreads) MoveOccurrences(Pass pass, const int32_t* places) {
  constexpr int kDigits = 1 << kBits;
  __shared__ int32_t next[kDigits];             // where the next of a digit goes
  __shared__ int32_t of_warp[kWarps][kDigits];  // how many a warp has, then where its first goes
  const int self = static_cast<int>(threadIdx.x), warp = self / kWarp, lane = self % kWarp;
  for (int digit = self; digit < kDigits; digit += kThreads)
    next[digit] = places[int64_t{digit} * gridDim.x + blockIdx.x];
  const int64_t begin = blockIdx.x * kTile;
  for (int64_t first = begin; first < begin + kTile && first < pass.size; first += kThreads) {
    for (int i = self; i < kWarps * kDigits; i += kThreads) of_warp[i / kDigits][i % kDigits] = 0;
    __syncthreads();
    const bool is_one = first + self < pass.size;
    const uint32_t key = is_one ? pass.from.keys[first + self] : 0;
    const int digit = DigitOf<kBits>(pass, key);
    const unsigned alike = LanesAlike<kBits>(is_one, digit);
    const int rank = __popc(alike & ((1u << lane) - 1));
    if (is_one && rank == 0) of_warp[warp][digit] = __popc(alike);
    __syncthreads();
    for (int d = self; d < kDigits; d += kThreads)
      for (int w = 0; w < kWarps; ++w) next[d] += std::exchange(of_warp[w][d], next[d]);
    __syncthreads();
    if (is_one) {
      const int32_t to = of_warp[warp][digit] + rank;
      pass.to.keys[to] = key;
      pass.to.values[to] = pass.from.values[first + self];
    }
    __syncthreads();
  }
}

template <int kBits>
CudaGrouped Group(Context& ctx, const CudaGroupingArgs& args) {
  Pass pass = {
      {args.keys, args.payloads}, {args.keys_scratch, args.payloads_scratch}, args.size, 0};
  if (args.size == 0) return pass.from;
  const int64_t tiles = (args.size + kTile - 1) / kTile, size = tiles << kBits;
  const Tensor counts = Tensor::Empty(ctx, {size}, DType::kI32),
               places = Tensor::Empty(ctx, {size}, DType::kI32);
  const dim3 blocks(static_cast<unsigned>(tiles));
  for (; (args.end_key - 1) >> pass.shift != 0; pass.shift += kBits) {
    internal::Launch(ctx, CountDigits<kBits>, blocks, dim3(kThreads), 0, pass,
                     counts.data<int32_t>());
    internal::ExclusiveSum(ctx, counts.data<int32_t>(), places.data<int32_t>(), size);
    internal::Launch(ctx, MoveOccurrences<kBits>, blocks, dim3(kThreads), 0, pass,
                     places.data<int32_t>());
    std::swap(pass.from, pass.to);
  }
  return pass.from;
}

using Bits = Constants<8, 4>;

const RegisterCuda kRadixTiles({.name = "radix_tiles",
                                .about = "a radix sort by tiles, three launches a digit",
                                .parameters = {Bits::Named("digit-bits", "bits of a digit")},
                                .make = [](const Point& point) {
                                  return Bits::With(
                                      point.Int("digit-bits"),
                                      [&]<int kBits>() -> CudaKernel { return Group<kBits>; });
                                }});

}  // namespace
}  // namespace tessera::bench
