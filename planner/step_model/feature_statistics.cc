#include "planner/step_model/feature_statistics.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int64_t kRowBlocks = 256;

using RowsByCount = std::map<int64_t, int64_t>;

double RowsNamed(const RowsByCount& rows, int64_t times) {
  const auto found = rows.find(times);
  return found == rows.end() ? 0 : static_cast<double>(found->second);
}

// The mean number of times that a row with `count` occurrences in the sample is named.
double Expected(const RowsByCount& rows, int64_t count) {
  constexpr int64_t kRare = 4;
  const auto seen = static_cast<double>(count);
  const double more = RowsNamed(rows, count + 1);
  if (count > kRare || more == 0) return seen;
  return std::min(seen, (seen + 1) * more / RowsNamed(rows, count));
}

// Adds the rows that were not met. As many of them get the share, evenly, that another sample of
// this size names as many distinct rows; the others are never named.
void AddUnmet(double rows, double share, int64_t ids, int64_t distinct,
              std::vector<RowGroup>& groups) {
  const auto n = static_cast<double>(ids);
  const double missing = static_cast<double>(distinct) - DistinctRows({groups, {}}, n);
  double low = std::min(1.0, rows), high = rows;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (DistinctRows({{{middle, share}}, {}}, n) < missing ? low : high) = middle;
  }
  groups.push_back({high, share});
  if (rows > high) groups.push_back({rows - high, 0});
}

// Groups of rows by how often the sample named them, in classes of equal ratio above 4.
std::vector<RowGroup> GroupsOf(const RowsByCount& rows_by_count, int64_t ids, int64_t rows) {
  int64_t distinct = 0;
  for (const auto& [count, n] : rows_by_count) distinct += n;
  const auto unmet_rows = static_cast<double>(rows - distinct);
  // A sample in which every id came once says that nothing is popular: then all rows are alike.
  const double unmet = unmet_rows <= 0
                           ? 0
                           : std::min(RowsNamed(rows_by_count, 1) / static_cast<double>(ids),
                                      unmet_rows / static_cast<double>(rows));
  std::map<int64_t, RowGroup> groups;
  double met = 0;
  for (const auto& [count, n] : rows_by_count) {
    const int bits = std::bit_width(static_cast<uint64_t>(count));
    RowGroup& group = groups[count <= 4 ? count : 4 + 2 * bits + ((count >> (bits - 2)) & 1)];
    const double share = static_cast<double>(n) * Expected(rows_by_count, count);
    group.rows += static_cast<double>(n);
    group.share += share;
    met += share;
  }
  std::vector<RowGroup> all;
  for (const auto& [key, group] : groups)
    all.push_back({group.rows, group.share * (1 - unmet) / met});
  std::reverse(all.begin(), all.end());
  if (unmet > 0) AddUnmet(unmet_rows, unmet, ids, distinct, all);
  return all;
}

template <typename Id>
void Count(const Tensor& ids, int64_t begin, int64_t end,
           std::unordered_map<int64_t, int64_t>& counts) {
  const Id* data = ids.data<Id>();
  for (int64_t i = begin; i < end; ++i) ++counts[static_cast<int64_t>(data[i])];
}

}  // namespace

void FeatureCounter::Add(Context& ctx, const KeyedJaggedTensor& batch) {
  const Tensor ids = batch.values().ToHost();
  batch.Sync(ctx);
  for (int64_t k = 0; k < batch.num_keys(); ++k) {
    const auto i = static_cast<size_t>(k);
    Counts& counts = keys_[batch.keys()[i]];
    counts.bags += batch.stride_per_key()[i];
    const int64_t begin = batch.offset_per_key()[i], end = batch.offset_per_key()[i + 1];
    if (ids.dtype() == DType::kI64)
      Count<int64_t>(ids, begin, end, counts.of_id);
    else
      Count<int32_t>(ids, begin, end, counts.of_id);
  }
}

FeatureStatistics FeatureCounter::Of(const std::string& key, int64_t rows) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) {
    std::string keys;
    for (const auto& [name, counts] : keys_) keys += (keys.empty() ? "" : ", ") + name;
    throw Error(Format("no feature \"{}\" in the data, which have {}", key, keys));
  }
  FeatureStatistics s{.bags = found->second.bags};
  const int64_t blocks = std::min(rows, kRowBlocks);
  std::vector<double> shares(static_cast<size_t>(blocks));
  RowsByCount rows_by_count;
  int64_t most = 0;
  for (const auto& [id, count] : found->second.of_id) {
    if (id < 0 || id >= rows) continue;
    s.ids += count;
    ++s.distinct;
    ++rows_by_count[count];
    most = std::max(most, count);
    const auto block = static_cast<int64_t>(static_cast<double>(id) / static_cast<double>(rows) *
                                            static_cast<double>(blocks));
    shares[static_cast<size_t>(std::min(block, blocks - 1))] += static_cast<double>(count);
  }
  if (s.ids == 0) {
    s.popularity = UniformRows(rows);
    return s;
  }
  s.hottest_share = static_cast<double>(most) / static_cast<double>(s.ids);
  s.popularity.groups = GroupsOf(rows_by_count, s.ids, rows);
  for (double& share : shares) share /= static_cast<double>(s.ids);
  s.popularity.row_shares = std::move(shares);
  return s;
}

}  // namespace tessera
