#include "serve/id_ranges.h"

#include <algorithm>

#include "embedding/lookup/row_ops.h"
#include "runtime/context.h"

namespace tessera::serve {
namespace {

template <typename Id>
bool IsStray(Id id, uint64_t num_ids) {
  return static_cast<uint64_t>(static_cast<int64_t>(id)) >= num_ids;  // so are negative ones
}

template <typename Id>
int64_t CountStray(const Id* begin, const Id* end, uint64_t num_ids) {
  return std::count_if(begin, end, [num_ids](Id id) { return IsStray(id, num_ids); });
}

// Finds the first id out of range of a feature that has one. offsets: of its bags.
template <typename Id>
StrayId FirstStray(const Id* ids, const IndexArray& offsets, int64_t bag, uint64_t num_ids) {
  int64_t at = offsets[bag], end_bag = bag;
  while (!IsStray(ids[at], num_ids)) ++at;
  while (offsets[end_bag + 1] <= at) ++end_bag;
  return {.feature = {},
          .example = end_bag - bag,
          .id = static_cast<int64_t>(ids[at]),
          .num_ids = static_cast<int64_t>(num_ids)};
}

template <typename Id>
StrayIds FindIn(const KeyedJaggedTensor& kjt, const IndexArray& offsets,
                const std::vector<std::string>& features, const std::vector<uint64_t>& num_ids) {
  const Id* const ids = kjt.values().data<Id>();
  StrayIds found{.counts = std::vector<int64_t>(features.size())};
  for (size_t f = 0; f < features.size(); ++f) {
    if (num_ids[f] == 0) continue;
    const bool there = f < kjt.keys().size() && kjt.keys()[f] == features[f];
    const int64_t bag = (there ? static_cast<int64_t>(f) : kjt.IndexOf(features[f])) * kjt.stride();
    found.counts[f] = CountStray(ids + offsets[bag], ids + offsets[bag + kjt.stride()], num_ids[f]);
    if (found.counts[f] == 0 || found.first) continue;
    found.first = FirstStray(ids, offsets, bag, num_ids[f]);
    found.first->feature = features[f];
  }
  return found;
}

}  // namespace

IdRanges::IdRanges(const ModelSpec& spec) : features_(spec.Features()), num_ids_(features_.size()) {
  for (const TableSpec& table : spec.tables)
    for (const std::string& feature : table.features) {
      const auto f = static_cast<size_t>(std::ranges::find(features_, feature) - features_.begin());
      const auto rows = static_cast<uint64_t>(table.num_ids());
      if (!table.raw_ids && (num_ids_[f] == 0 || rows < num_ids_[f])) num_ids_[f] = rows;
    }
}

StrayIds IdRanges::Find(const KeyedJaggedTensor& features) const {
  if (features_.empty()) return {};
  Context ctx({.threads = 1});
  const Tensor offsets = features.offsets(ctx);
  const IndexArray bags{offsets.raw_data(), offsets.dtype() == DType::kI64};
  if (features.values().dtype() == DType::kI32)
    return FindIn<int32_t>(features, bags, features_, num_ids_);
  return FindIn<int64_t>(features, bags, features_, num_ids_);
}

std::string ToString(const StrayId& stray) {
  return Format("feature {}, row {}: expected an id from 0 to {}, got {}", stray.feature,
                stray.example, stray.num_ids - 1, stray.id);
}

}  // namespace tessera::serve
