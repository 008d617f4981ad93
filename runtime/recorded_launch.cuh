#ifndef TESSERA_RUNTIME_RECORDED_LAUNCH_CUH_
#define TESSERA_RUNTIME_RECORDED_LAUNCH_CUH_
// Launches whose argument depends on the step (runtime/recorded_step.h). For .cu files.
#include <utility>

#include "runtime/context.h"
#include "runtime/device/capture.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

// Does what Launch does. If a CudaGraph is recorded on ctx, each of its launches runs the kernel
// with the argument that `again` returns then.
template <typename Param, typename Again>
void LaunchRecorded(Context& ctx, void (*kernel)(Param), dim3 grid, dim3 block, size_t shared_bytes,
                    const std::decay_t<Param>& argument, Again again) {
  Launch(ctx, kernel, grid, block, shared_bytes, argument);
  Capture* capture = ctx.stream().capture();
  if (capture == nullptr || grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const RecordedKernel recorded = {reinterpret_cast<const void*>(kernel),
                                   {grid.x, grid.y, grid.z},
                                   {block.x, block.y, block.z},
                                   shared_bytes,
                                   LastNode(OnCuda{}, ctx.stream())};
  capture->before_launch.emplace_back([recorded, again = std::move(again)](void* graph) {
    std::decay_t<Param> next = again();
    SetArgument(OnCuda{}, graph, recorded, &next);
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_RECORDED_LAUNCH_CUH_
