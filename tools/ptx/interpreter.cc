#include "tools/ptx/interpreter.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tools/ptx/statistics.h"

namespace ptx {
namespace {

Schedule Seeded(uint32_t seed) {
  Schedule schedule;
  schedule.random = seed != 0;
  schedule.generator.seed(seed);
  return schedule;
}
Schedule& TheSchedule() {
  static Schedule schedule = [] {
    const char* seed = std::getenv("TESSERA_PTX_SEED");
    return Seeded(seed == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(seed, nullptr, 10)));
  }();
  return schedule;
}

}  // namespace

void SetSeed(uint32_t seed) { TheSchedule() = Seeded(seed); }

void RunGrid(const Function& kernel, Extent3 grid, Extent3 extent, uint64_t dynamic_shared_bytes,
             const char* params) {
  Schedule& schedule = TheSchedule();
  // Blocks begin in their order, as hardware lets them; those that run side by side take turns.
  const uint32_t blocks = grid.count();
  const uint32_t side_by_side = std::min(blocks, schedule.random ? 1 + schedule.Below(4) : 1);
  Statistics* statistics = Statistics::Asked();
  if (statistics != nullptr)
    statistics->BeginLaunch(kernel.name, extent.count(), dynamic_shared_bytes);
  std::vector<std::unique_ptr<Block>> running;
  for (uint32_t next = 0; next < side_by_side; ++next) {
    running.push_back(std::make_unique<Block>(kernel, grid, extent, dynamic_shared_bytes, params));
    running.back()->statistics = statistics;
    running.back()->Begin(next);
  }
  for (uint32_t next = side_by_side; !running.empty();) {
    const auto block =
        running.begin() +
        (running.size() > 1 ? schedule.Below(static_cast<uint32_t>(running.size())) : 0);
    (*block)->Advance(schedule);
    if (!(*block)->done()) continue;
    if (next < blocks)
      (*block)->Begin(next++);
    else
      running.erase(block);
  }
  if (statistics != nullptr) statistics->EndLaunch(&kernel);
}

}  // namespace ptx
