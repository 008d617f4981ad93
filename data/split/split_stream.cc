#include "data/split/split_stream.h"

#include <algorithm>
#include <utility>

#include "data/first_ids.h"
#include "data/table_row.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

// Returns the function that gives a row's id of a feature, as in a batch; kNoId for an empty bag.
std::function<int64_t(const ClickRow&)> IdOf(const CategoricalFeature& feature,
                                             MissingIds missing) {
  const int column = CategoryColumn(feature.name);
  const auto rows = static_cast<uint64_t>(CheckedHashSize(feature));
  const bool row0 = missing == MissingIds::kRow0;
  return [=](const ClickRow& row) {
    if (!row.has_category(column)) return row0 ? 0 : kNoId;
    return static_cast<int64_t>(TableRow(row.categories[column], row0 ? 1 : 0, rows));
  };
}

}  // namespace

SplitStream::SplitStream(std::unique_ptr<ClickRowStream> stream, const RowFilter& filter,
                         const std::vector<CategoricalFeature>& features, MissingIds missing)
    : stream_(std::move(stream)) {
  TESSERA_CHECK(filter.by() != SplitBy::kTime, "a split by time of rows that have none");
  if (filter.by() == SplitBy::kRandom) {
    takes_ = [this, filter](const ClickRow&) {
      return filter.TakesNumber(stream_->next_row() - 1);
    };
    return;
  }
  const auto feature =
      std::ranges::find(features, filter.options().feature, &CategoricalFeature::name);
  TESSERA_CHECK(feature != features.end(), "no feature '{}'", filter.options().feature);
  takes_ = [filter, id = IdOf(*feature, missing)](const ClickRow& row) {
    return filter.TakesFirstId(id(row));
  };
}

bool SplitStream::Next(ClickRow& row) {
  while (stream_->Next(row))
    if (takes_(row)) return true;
  return false;
}

}  // namespace tessera
