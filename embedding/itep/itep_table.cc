#include "embedding/itep/itep_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "embedding/lookup/row_access.h"
#include "runtime/ops/arithmetic.h"
#include "sparse/ids/unique.h"

namespace tessera::internal {
namespace {

constexpr int64_t kIdsPerSample = 23;

std::shared_ptr<const IndexRemap> RemapOf(Context& ctx, const std::vector<int64_t>& address,
                                          int64_t rows) {
  const auto n = static_cast<int64_t>(address.size());
  const Tensor map = Tensor::EmptyHost({n}, DType::kI64);
  std::copy(address.begin(), address.end(), map.data<int64_t>());
  return std::make_shared<IndexRemap>(IndexRemap::FromMap(ctx, RemapKind::kArray, map, rows));
}

}  // namespace

ItepTable::ItepTable(Context& ctx, int64_t ids, int64_t rows)
    : rows_(rows), util_(Tensor::Zeros(ctx, {ids})) {
  address_.resize(static_cast<size_t>(ids), 0);
  std::iota(address_.begin(), address_.begin() + rows, int64_t{0});
  remap_ = RemapOf(ctx, address_, rows_);
}

void ItepTable::Set(Context& ctx, std::vector<int64_t> address, const Tensor& util) {
  address_ = std::move(address);
  remap_ = RemapOf(ctx, address_, rows_);
  util_.CopyFrom(ctx, util);
}

void ItepTable::Count(Context& ctx, const Tensor& ids) {
  if (ids.numel() == 0) return;
  const UniqueIds unique = Unique(ctx, ids);
  // Distinct ids are sorted, so those that can be counted lie together.
  const std::vector<int64_t> values = unique.values.To(ctx, DType::kI64).ToVector<int64_t>();
  const auto counted = [&](int64_t id) { return 0 <= id && id < this->ids(); };
  const auto begin = std::find_if(values.begin(), values.end(), counted),
             end = std::find_if_not(begin, values.end(), counted);
  const int64_t first = begin - values.begin(), last = end - values.begin();
  const Tensor places = unique.values.Rows(first, last),
               counts = unique.counts.Rows(first, last).To(ctx, DType::kF32),
               util = ReadRows(ctx, util_, places);
  WriteRows(ctx, util_, places, Add(ctx, Variable(util), Variable(counts)).value());
}

float ItepTable::Threshold(const std::vector<float>& util, int64_t iter) const {
  std::vector<float> samples;
  const auto n = static_cast<int64_t>(util.size());
  const int64_t first = iter % kIdsPerSample;
  if (n < kIdsPerSample) samples = util;
  for (int64_t i = 0; i < n / kIdsPerSample; ++i)
    samples.push_back(util[static_cast<size_t>(first + i * kIdsPerSample)]);
  const auto pruned = static_cast<float>(1.0 - static_cast<float>(rows_) / static_cast<float>(n));
  const auto place = static_cast<size_t>(std::floor(pruned * static_cast<float>(samples.size())));
  const auto nth = samples.begin() + static_cast<int64_t>(std::min(place, samples.size() - 1));
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

std::vector<int64_t> ItepTable::Prune(Context& ctx, float decay, int64_t iter) {
  std::vector<float> util = util_.ToVector<float>();
  for (float& u : util) u *= decay;
  const float threshold = Threshold(util, iter);
  std::vector<size_t> losers, winners;
  for (size_t id = 0; id < util.size(); ++id) {
    const bool used = util[id] > threshold, owner = address_[id] != 0;
    if (used && !owner) winners.push_back(id);
    if (!used && owner) losers.push_back(id);
  }
  std::vector<int64_t> handed_on;
  for (size_t i = 0; i < std::min(losers.size(), winners.size()); ++i) {
    std::swap(address_[losers[i]], address_[winners[i]]);
    handed_on.push_back(address_[winners[i]]);
  }
  Set(ctx, std::move(address_), Tensor::From(ctx, util));
  std::sort(handed_on.begin(), handed_on.end());
  return handed_on;
}

}  // namespace tessera::internal
