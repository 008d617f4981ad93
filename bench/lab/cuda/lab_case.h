#ifndef TESSERA_BENCH_LAB_CUDA_LAB_CASE_H_
#define TESSERA_BENCH_LAB_CUDA_LAB_CASE_H_
// The work of the lab on a kernel for a GPU at one point: it is checked on batches full of edges
// and on the one at hand, and run on that one as often as somebody counts or times it.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/point.h"
#include "bench/harness/topic.h"
#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/context.h"

namespace tessera::bench {

struct LabCase {
  // Throws Error where one bit is not that of the CPU; with other_sums, where an element is not
  // within the tolerance; or where something beside the results was written.
  std::function<void(const CudaKernel& kernel, bool other_sums)> check;
  // Leaves the work on the context's stream.
  std::function<void(const CudaKernel& kernel)> run;
  // Puts back what a run changed and the next one reads; null where there is nothing.
  std::function<void()> before = nullptr;
  // The library's kernel for the same arguments.
  CudaKernel ours;
  // All that a call reads and writes, and the least that memory must move if the caches hold what
  // was read once. Of a lookup: the row of every id, every id and every output; and the same with
  // each row once.
  double bytes = 0, least_bytes = 0;
  // Sums and products of f32 in a call, for a kernel that lives by arithmetic; else 0.
  double operations = 0;
  // By how much a sum's order may change an element (kernel.h). 0: a variant has our bits.
  double tolerance = 0;
};

// The kernels that take the same arguments, as the lab knows them.
struct LabKind {
  std::string name;  // "quantized lookup"
  // All that a case reads, beside the variant's parameters. Sizes are those that an emulated GPU
  // manages in a second.
  std::vector<Axis> axes;
  std::vector<std::pair<std::string, std::string>> sizes_of_gpu;  // by axis, to be timed with
  LabCase (*make)(Context&, const CudaVariant&, const Point&);
};

// In the order of CudaKernel, whose first alternative is no kernel.
const std::vector<LabKind>& LabKinds();
// By the variant's function. Throws Error where it has none.
const LabKind& KindOf(const CudaVariant& variant);

// On a GPU, with products that have the bits of a CPU.
ContextOptions LabContext();

// Throws Error for a point that the variant does not take. REQUIRES: a point of its kind's axes and
// its parameters; `ctx`, of LabContext(), outlives the case.
LabCase MakeLabCase(Context& ctx, const CudaVariant& variant, const Point& point);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_LAB_CASE_H_
