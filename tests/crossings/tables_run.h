#ifndef TESSERA_TESTS_CROSSINGS_TABLES_RUN_H_
#define TESSERA_TESTS_CROSSINGS_TABLES_RUN_H_
// The steps of a case, as its point says, and in the plainest way: one process, tables in memory
// that are called directly, a loop.
#include <map>
#include <optional>
#include <string>

#include "tests/crossings/tables_case.h"

namespace tessera::testing {

// All that can be compared, on the host: "step 2 output 0", "gradient of weights, step 1",
// "t0/0" (rows of the block of columns from 0 on), "t0/0.momentum1", what is known of raw ids.
struct TablesOutcome {
  std::map<std::string, Tensor> tensors;
};

// Throws Error where the library refuses the point. `folder`: for checkpoints; made, and removed.
TablesOutcome RunPoint(const TablesCase& c, const std::string& folder);
TablesOutcome RunPlainly(const TablesCase& c);
// The point that a point is compared with where its numbers depend on how rows and ids travel, or
// on which rows a pipeline sees: the same point with tables in memory that are not saved and
// loaded; for others none.
std::optional<Point> BaselineOf(const Point& point);

// Whether a part of a result has the reference's bits, or is near it. Sums over parts of a bag are
// added in another order than without parts; what travels is rounded by its codec.
enum class Closeness { kEqual, kNear };
Closeness ClosenessOf(const TablesCase& c, const std::string& name);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TABLES_RUN_H_
