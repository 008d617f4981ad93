#ifndef TESSERA_BENCH_HARNESS_MACHINE_AXES_H_
#define TESSERA_BENCH_HARNESS_MACHINE_AXES_H_
// Axes of how a point runs, which the runner takes care of for every topic that has them:
//
//   seed 5 | isa best | pin no
#include <memory>
#include <vector>

#include "bench/harness/topic.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"

namespace tessera::bench {

std::vector<Axis> MachineAxes();

// The seed of a point's Context; 5 where the topic has no such axis.
uint64_t SeedOf(const Point& point);

// Reads the axes above and "threads". Throws Error for more threads, each on a core of its own,
// than this process may use cores.
void CheckMachineAxes(const Point& point);

// While it lives, lookups and updates use the point's instruction set, and each of the context's
// threads runs on a core of its own, if the point says so. Throws Error as CheckMachineAxes does.
class PointMachine {
 public:
  PointMachine(Context& ctx, const Point& point);
  ~PointMachine();
  PointMachine(const PointMachine&) = delete;
  PointMachine& operator=(const PointMachine&) = delete;

 private:
  struct Cores;
  IsaLevel isa_before_;
  std::unique_ptr<Cores> before_;  // of the calling thread; null: nothing is pinned
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_MACHINE_AXES_H_
