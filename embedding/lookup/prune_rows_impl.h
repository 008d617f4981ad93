#ifndef TESSERA_EMBEDDING_LOOKUP_PRUNE_ROWS_IMPL_H_
#define TESSERA_EMBEDDING_LOOKUP_PRUNE_ROWS_IMPL_H_
// The function of one row that both devices run for prune_rows.h, and the devices' overloads.
#include <bit>

#include "embedding/lookup/prune_rows.h"
#include "runtime/device/device.h"

namespace tessera::internal {

// The bits of a row's squared norm, turned round: the largest norm has the smallest key, NaN 0.
template <typename Row>
struct NormKey {
  const Row* table;
  int64_t dim;
  uint64_t* keys;
  TESSERA_HD void operator()(int64_t e) const {
    double sum = 0;
    for (int64_t d = 0; d < dim; ++d) {
      const double x = static_cast<double>(static_cast<float>(table[e * dim + d]));
      sum += x * x;
    }
    keys[e] = sum == sum ? ~std::bit_cast<uint64_t>(sum) : 0;
  }
};

struct SetFlag {
  const uint32_t* places;
  uint8_t* flags;
  TESSERA_HD void operator()(int64_t i) const { flags[places[i]] = 1; }
};

// Row k of the pruned table was row kept[k].
template <typename T>
struct SetRow {
  const int64_t* kept;
  T* map;
  TESSERA_HD void operator()(int64_t k) const { map[kept[k]] = static_cast<T>(k); }
};

// flags [E] u8, 1 for the `kept` rows.
Tensor FlagLargestRows(OnCpu, Context& ctx, const Tensor& table, int64_t kept);
Tensor FlagLargestRows(OnCuda, Context& ctx, const Tensor& table, int64_t kept);
// i64, where flags are not 0.
Tensor FlaggedPlacesSync(OnCpu, Context& ctx, const Tensor& flags);
Tensor FlaggedPlacesSync(OnCuda, Context& ctx, const Tensor& flags);
// map[kept[k]] = k; map i32 or i64.
void SetRows(OnCpu, Context& ctx, const Tensor& kept, const Tensor& map);
void SetRows(OnCuda, Context& ctx, const Tensor& kept, const Tensor& map);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_PRUNE_ROWS_IMPL_H_
