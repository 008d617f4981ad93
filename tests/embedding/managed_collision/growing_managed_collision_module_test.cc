#include "embedding/managed_collision/growing_managed_collision_module.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

class GrowingManagedCollisionModuleTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(GrowingManagedCollisionModuleTest);

TEST_P(GrowingManagedCollisionModuleTest, IdsWithoutARowShareRowsByHash) {
  Context ctx({.device = GetParam(), .threads = 2});
  GrowingManagedCollisionModule module({.max_rows = 4, .shared_rows = 3});
  EXPECT_EQ(module.output_size(), 7);
  const auto rows_of = [&](const std::vector<int64_t>& ids, bool training) {
    const std::vector<Tensor> features = {Tensor::From(ctx, ids)};
    return module.Forward(ctx, features, training)[0].ToVector<int64_t>();
  };
  EXPECT_EQ(rows_of({50, -7, 50}, true), (std::vector<int64_t>{3, 4, 3}));
  EXPECT_EQ(module.rows_in_use(), 5);
  std::vector<int64_t> strangers(300);
  std::iota(strangers.begin(), strangers.end(), int64_t{1} << 40);
  const std::vector<int64_t> rows = rows_of(strangers, false);
  for (const int64_t row : {0, 1, 2})
    EXPECT_GT(std::count(rows.begin(), rows.end(), row), 60) << row;
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](int64_t row) { return row > 2; }), 0);
  EXPECT_EQ(rows_of(strangers, false), rows);
  rows_of({1, 2, 3, 4}, true);  // all rows are theirs now
  for (const int64_t row : module.Evict(ctx).ToVector<int64_t>()) EXPECT_GE(row, 3);
}

TEST_P(GrowingManagedCollisionModuleTest, NumbersOfSharedRowsThatMakeNoSenseAreRefused) {
  for (const int64_t rows : {int64_t{0}, INT64_MAX})
    EXPECT_EQ(testing::ErrorOf([&] {
                GrowingManagedCollisionModule({.max_rows = 4, .shared_rows = rows, .name = "t"});
              }),
              Format("growing index t: shared_rows {}; expected at least 1 and below 2^32", rows));
}

}  // namespace
}  // namespace tessera
