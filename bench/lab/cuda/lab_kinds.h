#ifndef TESSERA_BENCH_LAB_CUDA_LAB_KINDS_H_
#define TESSERA_BENCH_LAB_CUDA_LAB_KINDS_H_
// The kinds of kernels that the lab knows on a GPU, each in the file <kind>_case.cc, and what these
// files have in common.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/harness/machine_axes.h"
#include "bench/lab/cuda/lab_case.h"
#include "runtime/context.h"

namespace tessera::bench {

LabKind LookupKind();
LabKind QuantizedLookupKind();
LabKind UpdateKind();
LabKind GroupingKind();
LabKind ProductKind();

// A context of the CPU that a case is compared with.
inline ContextOptions HostContext(const Point& point) {
  return {.threads = 1, .seed = SeedOf(point)};
}

using Sizes = std::vector<std::pair<std::string, std::string>>;  // by axis

// The axes with these sizes in the first place, without those that a CPU alone has.
std::vector<Axis> AxesOnGpu(std::vector<Axis> axes, const Sizes& sizes);
// Tables and a batch as both an emulated and a real GPU manage them.
inline const Sizes kSmallTables = {{"rows", "4k"}, {"tables", "2"}, {"batch", "64"}};
inline const Sizes kLargeTables = {{"rows", "1M"}, {"tables", "8"}, {"batch", "32768"}};

// Case: a class that can Check, Run and Count a Function.
template <typename Case, typename Function>
LabCase MakeCase(const std::shared_ptr<Case>& own, const Function& ours) {
  LabCase made;
  made.ours = ours;
  made.check = [own](const CudaKernel& kernel, bool other_sums) {
    own->Check(std::get<Function>(kernel), other_sums);
  };
  made.run = [own](const CudaKernel& kernel) { own->Run(std::get<Function>(kernel)); };
  own->Count(made);
  return made;
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_LAB_KINDS_H_
