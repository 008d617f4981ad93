#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/algorithms.h"
#include "runtime/base/host_device.h"
#include "runtime/launch.cuh"
#include "tests/bench/lab/broken_grouping.h"

namespace tessera::bench {
namespace {

using Fault = CudaGroupingFault;

// Spoils one key before all are sorted.
struct SpoilKeys {
  CudaGroupingArgs args;
  Fault fault;
  TESSERA_HD void operator()(int64_t i) const {
    uint32_t& key = args.keys[i];
    if (fault == Fault::kLastRow && key > 0 && key == args.end_key - 1) --key;
    if (fault == Fault::kHighBit) key &= 0x7fffffffu;
  }
};

// Spoils one pair of neighbours after all were sorted.
struct SpoilPairs {
  CudaGroupingArgs args;
  CudaGrouped sorted;
  Fault fault;
  TESSERA_HD void operator()(int64_t pair) const {
    const int64_t i = 2 * pair;
    if (fault == Fault::kPayload && pair == 0) ++sorted.values[0];
    if (fault == Fault::kBeside && pair == 0) args.keys_scratch[args.size] = 0;
    if (fault != Fault::kOrder || i + 1 >= args.size || sorted.keys[i] != sorted.keys[i + 1])
      return;
    const uint32_t first = sorted.values[i];
    sorted.values[i] = sorted.values[i + 1];
    sorted.values[i + 1] = first;
  }
};

CudaGrouped Group(Context& ctx, const CudaGroupingArgs& args, Fault fault) {
  const CudaGrouped given = {args.keys, args.payloads},
                    scratch = {args.keys_scratch, args.payloads_scratch};
  if (fault == Fault::kUnsorted || args.size == 0) return given;
  internal::ForEach(ctx, args.size, SpoilKeys{args, fault});
  const int bits = std::bit_width(args.end_key);
  const CudaGrouped sorted =
      internal::SortPairs(ctx, args.keys, args.keys_scratch, args.payloads, args.payloads_scratch,
                          fault == Fault::kLast ? args.size - 1 : args.size,
                          fault == Fault::kFewerBits ? std::max(1, bits - 2) : bits);
  internal::ForEach(ctx, (args.size + 1) / 2, SpoilPairs{args, sorted, fault});
  if (fault != Fault::kOtherArray) return sorted;
  return sorted.keys == given.keys ? scratch : given;
}

}  // namespace

CudaGrouping BrokenGrouping(CudaGroupingFault fault) {
  return [fault](Context& ctx, const CudaGroupingArgs& args) { return Group(ctx, args, fault); };
}

}  // namespace tessera::bench
