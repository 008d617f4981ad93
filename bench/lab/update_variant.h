#ifndef TESSERA_BENCH_LAB_UPDATE_VARIANT_H_
#define TESSERA_BENCH_LAB_UPDATE_VARIANT_H_
// Other ways to bring the occurrences of each row together before an update, each in a file of its
// own in bench/lab/variants, checked bit by bit and timed beside ours by `tessera bench lab
// --kernel update`. What follows the grouping is the same executor, so only the grouping is
// compared.
#include <functional>
#include <string>
#include <vector>

#include "bench/lab/variant.h"
#include "embedding/update/row_update.h"
#include "embedding/update/update.h"
#include "runtime/context.h"

namespace tessera::bench {

using RowOccurrence = internal::Occurrence<uint32_t>;

// Brings equal rows together, each row's occurrences in the order they came in; the order of rows
// is free, as rows do not see each other.
using Grouping = std::function<void(std::vector<RowOccurrence>& occurrences)>;

struct UpdateVariant {
  std::string name, about;
  Grouping run = nullptr;
  // With parameters, in place of `run`: the grouping for a point's values of them.
  std::vector<Axis> parameters = {};
  std::function<Grouping(const Point&)> make = nullptr;

  Grouping At(const Point& point) const { return make ? make(point) : run; }
};

struct RegisterUpdate {
  explicit RegisterUpdate(UpdateVariant variant) {
    RegisteredVariants<UpdateVariant>().push_back(std::move(variant));
  }
};

// An update with this grouping, a table a thread. REQUIRES: rule Sgd or RowwiseAdagrad, fewer than
// 2^32 rows, one feature a table.
void UpdateGrouped(Context& ctx, const UpdateArgs& args, const Grouping& group);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_UPDATE_VARIANT_H_
