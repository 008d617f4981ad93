#include "planner/step_model/working_set.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kLowest = -20, kHighest = 20;  // log2 of steps
constexpr size_t kPlaces = 41;

double StepsAt(size_t i) { return std::exp2(kLowest + static_cast<double>(i)); }

}  // namespace

WorkingSet::WorkingSet(const StepLoad& load, double ranks, double share) : bytes_(kPlaces) {
  const double scale = share / (1 - std::exp(-1.0));
  for (const StepTable& table : load.tables) {
    const double row = BytesOfRow(table) * scale;
    for (const StepFeature& feature : table.features)
      for (const RowGroup& g : feature.popularity.groups) {
        const double uses = 1 / StepsBetweenUses(g, feature.ids * ranks);
        for (size_t i = 0; i < kPlaces; ++i)
          bytes_[i] -= row * g.rows * std::expm1(-uses * StepsAt(i));
      }
  }
}

double WorkingSet::Of(double steps) const {
  const double at = std::clamp(std::log2(steps) - kLowest, 0.0, kHighest - kLowest);
  const auto low = std::min(static_cast<size_t>(at), kPlaces - 2);
  const double share = at - static_cast<double>(low);
  return bytes_[low] + (bytes_[low + 1] - bytes_[low]) * share;
}

}  // namespace tessera
