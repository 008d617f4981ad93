#include "bench/harness/machine_axes.h"

#include <sched.h>

#include <barrier>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

void CheckIsa(const std::string& text) {
  if (text == "best") return;
  std::vector<std::string> names = {"best"};
  for (const IsaLevel level : CompiledIsaLevels()) names.push_back(ToString(level));
  OneOf(names)(text);
  for (const IsaLevel level : CompiledIsaLevels())
    if (text == ToString(level) && level > BestIsa())
      throw Error(Format("this CPU has no {}; its best is {}", text, ToString(BestIsa())));
}

IsaLevel IsaOf(const std::string& text, IsaLevel best) {
  for (const IsaLevel level : CompiledIsaLevels())
    if (text == ToString(level)) return level;
  return best;
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

// Each thread takes one piece, as none goes on before all have one.
void PinThreads(Context& ctx, const std::vector<int>& cores) {
  const int threads = ctx.threads().threads();
  std::barrier all(threads);
  ParallelFor(ctx, threads, 1, [&](int64_t begin, int64_t) {
    all.arrive_and_wait();
    PinTo(cores[static_cast<size_t>(begin)]);
  });
}

}  // namespace

struct PointMachine::Cores {
  cpu_set_t set;
};

std::vector<Axis> MachineAxes() {
  return {{"seed", {"5"}, "of ids, rows and gradients", WholeFrom(0)},
          {"isa",
           {"best"},
           "instruction set of the library's lookups and updates: best, baseline, avx2 or avx512",
           CheckIsa},
          {"pin", {"no"}, "each thread on a core of its own", YesOrNo()}};
}

uint64_t SeedOf(const Point& point) {
  return point.Has("seed") ? static_cast<uint64_t>(point.Int("seed")) : 5;
}

void CheckMachineAxes(const Point& point) {
  SeedOf(point);
  if (point.Has("isa")) point.Text("isa");
  const int64_t threads = point.Int("threads");
  if (!point.Has("pin") || !point.Flag("pin")) return;
  const auto cores = std::ssize(AllowedCores());
  TESSERA_CHECK(threads <= cores, "--pin yes with --threads {}: this process may use {} cores",
                threads, cores);
}

PointMachine::PointMachine(Context& ctx, const Point& point) : isa_before_(ChosenIsa()) {
  CheckMachineAxes(point);
  if (point.Has("isa")) SetIsa(IsaOf(point.Text("isa"), isa_before_));
  if (!point.Has("pin") || !point.Flag("pin")) return;
  const std::vector<int> cores = AllowedCores();
  before_ = std::make_unique<Cores>();
  sched_getaffinity(0, sizeof(before_->set), &before_->set);
  PinThreads(ctx, cores);
}

PointMachine::~PointMachine() {
  SetIsa(isa_before_);
  if (before_) sched_setaffinity(0, sizeof(before_->set), &before_->set);
}

}  // namespace tessera::bench
