#include "bench/facts/row_facts.h"

#include <algorithm>
#include <cmath>

#include "bench/inputs/reuse_distances.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kTableStride = int64_t{1} << 40;  // above the rows of any table
constexpr int64_t kLineBytes = 64;

// Part `part` of each call.
std::vector<std::vector<int64_t>> PartsOf(const RowReads& reads, int part) {
  std::vector<std::vector<int64_t>> parts;
  for (const std::vector<int64_t>& call : reads.calls) {
    const auto rows = static_cast<int64_t>(call.size());
    parts.emplace_back(call.begin() + rows * part / reads.threads,
                       call.begin() + rows * (part + 1) / reads.threads);
  }
  return parts;
}

}  // namespace

std::vector<int64_t> RowsNamed(const LookupArgs& args) {
  std::vector<int64_t> rows;
  for (size_t t = 0; t < args.features.size(); ++t) {
    const LookupFeature& feature = args.features[t];
    const int64_t end = args.offsets[feature.first_bag + feature.num_bags];
    for (int64_t i = args.offsets[feature.first_bag]; i < end; ++i)
      rows.push_back(static_cast<int64_t>(t) * kTableStride + feature.ids[i]);
  }
  return rows;
}

std::vector<int64_t> DistinctRows(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Facts ReuseFacts(double ids, double distinct_rows, double row_bytes) {
  return {{"distinct_rows", distinct_rows},
          {"working_set_bytes", distinct_rows * row_bytes},
          {"mean_reuse", ids / std::max(distinct_rows, 1.0)}};
}

Facts CacheHitFacts(const RowReads& reads, bool cold, const std::vector<DataCache>& caches) {
  // Calls of empty bags read no rows, whose mean is then 0 bytes.
  const auto lines = std::max<int64_t>(1, std::llround(std::ceil(reads.row_bytes / kLineBytes)));
  std::vector<int64_t> held;  // rows, by cache
  for (const DataCache& cache : caches) held.push_back(cache.bytes / (lines * kLineBytes));
  const std::vector<double> own = LruHitShares(PartsOf(reads, 0), cold, held);
  const std::vector<double> shared =
      reads.threads == 1 ? own : LruHitShares(reads.calls, cold, held);
  Facts facts;
  for (size_t i = 0; i < caches.size(); ++i)
    facts.emplace_back(Format("lru_l{}_hit_share", caches[i].level),
                       caches[i].level < 3 ? own[i] : shared[i]);
  return facts;
}

}  // namespace tessera::bench
