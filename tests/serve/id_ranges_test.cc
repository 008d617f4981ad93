#include "serve/id_ranges.h"

#include <gtest/gtest.h>

#include "runtime/context.h"

namespace tessera::serve {
namespace {

TableSpec Table(const std::string& name, int64_t rows, std::vector<std::string> features) {
  return {.name = name, .rows = rows, .dim = 4, .features = std::move(features)};
}

// Two rows of u, v, w and x; u is read by a table of 5 and one of 3, x by a table of raw ids.
ModelSpec Model() {
  ModelSpec spec;
  spec.tables = {Table("a", 5, {"u", "v"}), Table("b", 3, {"u", "w"}), Table("c", 2, {"x"})};
  spec.tables[1].ids = 4;  // pruned: it had 4
  spec.tables[2].raw_ids.emplace();
  return spec;
}

template <typename Id>
StrayIds Find(const std::vector<Id>& ids, const std::vector<int64_t>& lengths) {
  Context ctx({.threads = 1});
  return IdRanges(Model()).Find(KeyedJaggedTensor::FromLengthsSync(
      {"u", "v", "w", "x"}, Tensor::From(ctx, ids), Tensor::From(ctx, lengths)));
}

TEST(IdRanges, CountsByFeatureAndNamesTheFirst) {
  // u: {3, 4}, {}; v: {5, 0}, {-1, 4}; w: {}, {0, 1, 4}; x: {-7}, {1000}
  const std::vector<int64_t> ids = {3, 4, 5, 0, -1, 4, 0, 1, 4, -7, 1000};
  const std::vector<int64_t> lengths = {2, 0, 2, 2, 0, 3, 1, 1};
  const StrayIds found = Find(ids, lengths);
  EXPECT_EQ(found.counts, (std::vector<int64_t>{1, 2, 1, 0}));
  EXPECT_EQ(ToString(*found.first), "feature u, row 0: expected an id from 0 to 3, got 4");
  const StrayIds narrow = Find(std::vector<int32_t>(ids.begin(), ids.end()), lengths);
  EXPECT_EQ(narrow.counts, found.counts);
  EXPECT_EQ(ToString(*narrow.first), ToString(*found.first));
}

TEST(IdRanges, NamesTheRow) {
  const StrayIds found = Find<int64_t>({0, 3, 0, 1, 2, -9, 0, 0}, {1, 1, 0, 0, 0, 4, 1, 1});
  EXPECT_EQ(ToString(*found.first), "feature w, row 1: expected an id from 0 to 3, got -9");
  EXPECT_FALSE(Find<int64_t>({0, 3, 4, 3, 5}, {1, 1, 1, 0, 0, 1, 0, 1}).first.has_value());
}

}  // namespace
}  // namespace tessera::serve
