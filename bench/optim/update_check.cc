#include "bench/optim/update_check.h"

#include <algorithm>
#include <cmath>

#include "embedding/lookup/element.h"
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
  const int64_t bytes = feature.dim * SizeOf(feature.row_type);
  const char* now = static_cast<const char*>(feature.rows) + row * bytes;
  rows_.push_back({table, row, named, feature.row_type, now, std::vector<char>(now, now + bytes)});
}

void UpdateCheck::Verify() const {
  for (const Row& row : rows_) {
    const bool same = std::equal(row.before.begin(), row.before.end(), row.now);
    if (!row.named || row.type == DType::kF32)
      TESSERA_CHECK_EQ(same, !row.named, "table {}: row {}, which the batch {}: unchanged",
                       row.table, row.number, row.named ? "names" : "does not name");
    const auto dim = static_cast<int64_t>(row.before.size()) / SizeOf(row.type);
    for (int64_t d = 0; d < dim; ++d)
      TESSERA_CHECK(std::isfinite(internal::LoadElement(row.now, row.type, d)),
                    "table {}: row {} is no longer finite", row.table, row.number);
  }
}

}  // namespace tessera::bench
