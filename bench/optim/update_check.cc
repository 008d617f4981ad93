#include "bench/optim/update_check.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kRows = 64;  // of each kind and table

}  // namespace

UpdateCheck::UpdateCheck(const LookupArgs& args) {
  for (size_t t = 0; t < args.features.size(); ++t) {
    const LookupFeature& f = args.features[t];
    const int64_t begin = args.offsets[f.first_bag], end = args.offsets[f.first_bag + f.num_bags];
    std::vector<bool> named(static_cast<size_t>(std::min(f.num_rows, kRows)));
    for (int64_t i = begin; i < end; ++i)
      if (const auto id = static_cast<size_t>(f.ids[i]); id < named.size()) named[id] = true;
    for (int64_t i = begin; i < std::min(end, begin + kRows); ++i) Keep(f, t, f.ids[i], true);
    for (int64_t row = 0; row < std::min(f.num_rows, kRows); ++row)
      if (!named[static_cast<size_t>(row)]) Keep(f, t, row, false);
  }
}

void UpdateCheck::Keep(const LookupFeature& feature, size_t table, int64_t row, bool named) {
  const float* now = static_cast<const float*>(feature.rows) + row * feature.dim;
  rows_.push_back({table, row, named, now, std::vector<float>(now, now + feature.dim)});
}

void UpdateCheck::Verify() const {
  for (const Row& row : rows_) {
    const bool same = std::equal(row.before.begin(), row.before.end(), row.now);
    TESSERA_CHECK_EQ(same, !row.named, "table {}: row {}, which the batch {}: unchanged", row.table,
                     row.number, row.named ? "names" : "does not name");
    const bool finite =
        std::all_of(row.now, row.now + row.before.size(), [](float x) { return std::isfinite(x); });
    TESSERA_CHECK(finite, "table {}: row {} is no longer finite", row.table, row.number);
  }
}

}  // namespace tessera::bench
