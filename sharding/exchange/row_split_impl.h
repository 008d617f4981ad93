#ifndef TESSERA_SHARDING_EXCHANGE_ROW_SPLIT_IMPL_H_
#define TESSERA_SHARDING_EXCHANGE_ROW_SPLIT_IMPL_H_
// The two passes of row_split.h over a bag, for every machine.
#include <cstdint>
#include <span>

#include "embedding/lookup/row_ops.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"
#include "sharding/plan/hash_parts.h"
#include "sparse/ops/divider.h"

namespace tessera::internal {

struct SplitBlock {
  int64_t row = 0;             // its first
  int32_t* lengths = nullptr;  // [bags]
  int64_t* next = nullptr;     // [bags]: `base`, and then some
  int64_t base = 0;
  void* ids = nullptr;
  int32_t* positions = nullptr;
  float* weights = nullptr;
};

struct SplitFeature {
  int64_t count = 0;  // bags
  IndexArray ids = {};
  int64_t begin = 0, first_bag = 0;
  IndexArray offsets = {};
  const SplitBlock* blocks = nullptr;
  int64_t num_blocks = 0, end = 0;
  Divider rows_a_block = Divider(1);  // where `even`
  bool even = false;
  const float* weights = nullptr;
  HashParts parts = {};

  TESSERA_HD bool hashed() const { return parts.num_parts > 0; }
  // The block of an id, or −1.
  TESSERA_HD int64_t BlockOf(int64_t id) const {
    const int64_t row = hashed() ? parts.FirstRowOf(id) : id;
    if (row < blocks[0].row || row >= end) return -1;
    if (even) return static_cast<int64_t>(rows_a_block(static_cast<uint64_t>(row)));
    int64_t low = 0, high = num_blocks;
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (blocks[middle].row <= row ? low : high) = middle;
    }
    return low;
  }
};

struct CountBag {
  TESSERA_HD void operator()(const SplitFeature& f, int64_t bag) const {
    for (int64_t b = 0; b < f.num_blocks; ++b) f.blocks[b].lengths[bag] = 0;
    const int64_t end = f.offsets[f.first_bag + bag + 1];
    for (int64_t i = f.offsets[f.first_bag + bag]; i < end; ++i)
      if (const int64_t b = f.BlockOf(f.ids[i]); b >= 0) ++f.blocks[b].lengths[bag];
  }
};

struct PlaceBag {
  TESSERA_HD void operator()(const SplitFeature& f, int64_t bag) const {
    const int64_t end = f.offsets[f.first_bag + bag + 1];
    for (int64_t i = f.offsets[f.first_bag + bag]; i < end; ++i) {
      const int64_t id = f.ids[i], b = f.BlockOf(id);
      if (b < 0) continue;
      const SplitBlock& block = f.blocks[b];
      const int64_t to = block.next[bag]++ - block.base, less = f.hashed() ? 0 : block.row;
      if (f.ids.wide)
        static_cast<int64_t*>(block.ids)[to] = id - less;
      else
        static_cast<int32_t*>(block.ids)[to] = static_cast<int32_t>(id - less);
      block.positions[to] = static_cast<int32_t>(i - f.begin);
      if (f.weights != nullptr) block.weights[to] = f.weights[i];
    }
  }
};

void ForBags(OnCpu, Context& ctx, std::span<const SplitFeature> features, const CountBag& fn);
void ForBags(OnCuda, Context& ctx, std::span<const SplitFeature> features, const CountBag& fn);
void ForBags(OnCpu, Context& ctx, std::span<const SplitFeature> features, const PlaceBag& fn);
void ForBags(OnCuda, Context& ctx, std::span<const SplitFeature> features, const PlaceBag& fn);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_EXCHANGE_ROW_SPLIT_IMPL_H_
