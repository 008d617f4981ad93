#ifndef TESSERA_BENCH_LAB_CUDA_LAB_CASE_H_
#define TESSERA_BENCH_LAB_CUDA_LAB_CASE_H_
// The work of the lab on a kernel for a GPU at one point: it is checked on two batches, and run on
// one of them as often as somebody counts or times it.
#include <functional>
#include <vector>

#include "bench/harness/point.h"
#include "bench/lab/cuda/cuda_variant.h"
#include "runtime/context.h"

namespace tessera::bench {

struct LabCase {
  // Throws Error where one bit is not that of the CPU, on the batch of `run` and on a HardBatch.
  std::function<void(const CudaKernel& kernel)> check;
  // Leaves the work on the context's stream.
  std::function<void(const CudaKernel& kernel)> run;
  // The library's kernel for the same arguments.
  CudaKernel ours;
  // The row of every id, every id and every output; and the least that memory must move if the
  // caches hold what was read once: the same with each row once.
  double bytes = 0, least_bytes = 0;
};

// The axes of all cases, beside the variant's parameters. Sizes are those that an emulated GPU
// manages in a second.
std::vector<Axis> LabCaseAxes();

// The variant's kernel decides which case it is. Throws Error for a point that it does not take.
// REQUIRES: a point of LabCaseAxes and the variant's parameters; `ctx` is on a GPU, and outlives
// the case.
LabCase MakeLabCase(Context& ctx, const CudaVariant& variant, const Point& point);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_LAB_CASE_H_
