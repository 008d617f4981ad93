// Graphs of the emulated runtime: what was recorded, given to a stream again, and launches in it
// that get other arguments.
#include "tools/emulation/stream.h"

using cuda_emulation::Lock;
using cuda_emulation::Push;
using cuda_emulation::StreamOf;

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{*graph};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const std::lock_guard lock(Lock());
  Push(StreamOf(stream), [work = exec->work] {
    for (const Work& step : work) step();
  });
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long*, cudaGraph_t*,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData**, size_t* num_dependencies) {
  const std::lock_guard lock(Lock());
  *status = cudaStreamCaptureStatusNone;
  if (!stream->capture) return cudaSuccess;
  *status = stream->broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  const size_t given = stream->capture->work.size();
  *num_dependencies = given > 0 ? 1 : 0;
  if (given > 0) stream->last = NodeAt(given - 1);
  *dependencies = &stream->last;
  return cudaSuccess;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  const std::lock_guard lock(Lock());
  const auto bind = exec->kernels.find(PlaceOf(node));
  if (bind == exec->kernels.end()) return cudaErrorInvalidValue;
  const dim3 &grid = p->gridDim, &block = p->blockDim;
  exec->work[bind->first] = bind->second(
      {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, p->sharedMemBytes}, p->kernelParams);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
