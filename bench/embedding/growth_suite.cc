#include "bench/embedding/growth_suite.h"

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// 1 GB of rows in all, 20 ids a bag.
constexpr int64_t kRows = 8'000'000;
constexpr int64_t kBags = 32'000;  // of all tables together, where tables grow

Point At(const std::string& label, int64_t tables, int64_t batch) {
  return Point(label, {{"dim", "32"},
                       {"rows", Format("{}", kRows / tables)},
                       {"tables", Format("{}", tables)},
                       {"batch", Format("{}", batch)},
                       {"pooling", "20"}});
}

}  // namespace

Suite GrowthSuite() {
  Suite suite{
      "growth", "the time of an id from 10^4 to 10^7 ids a batch, and from 1 to 2,000 tables", {}};
  for (const int64_t batch : {64, 640, 6'400, 64'000})
    suite.points.push_back(At(Format("ids_{}k", batch * 8 * 20 / 1000), 8, batch));
  for (const int64_t tables : {1, 10, 100, 1'000, 2'000})
    suite.points.push_back(At(Format("tables_{}", tables), tables, kBags / tables));
  return suite;
}

}  // namespace tessera::bench
