// Recording of streams, over CUDA's runtime.
#include "runtime/device/capture.h"
#include "runtime/device/cuda_check.h"

namespace tessera::internal {

// The capture mode is relaxed: memory may be taken, on other streams, while this one is recorded.
void BeginCapture(OnCuda, const Stream& stream) {
  UseDevice(stream.device());
  TESSERA_CUDA_CHECK(cudaStreamBeginCapture(CudaStream(stream), cudaStreamCaptureModeRelaxed));
}

void* EndCapture(OnCuda, const Stream& stream) {
  cudaGraph_t recorded = nullptr;
  TESSERA_CUDA_CHECK(cudaStreamEndCapture(CudaStream(stream), &recorded));
  cudaGraphExec_t graph = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&graph, recorded, 0);
  TESSERA_CUDA_LOG(cudaGraphDestroy(recorded));
  TESSERA_CUDA_CHECK(error);
  return graph;
}

// An error here repeats one that the recording has met before.
void DropCapture(OnCuda, const Stream& stream) noexcept {
  cudaGraph_t recorded = nullptr;
  if (cudaStreamEndCapture(CudaStream(stream), &recorded) != cudaSuccess) (void)cudaGetLastError();
  if (recorded != nullptr) TESSERA_CUDA_LOG(cudaGraphDestroy(recorded));
}

void LaunchGraph(OnCuda, void* graph, const Stream& stream) {
  UseDevice(stream.device());
  TESSERA_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), CudaStream(stream)));
}

void DestroyGraph(OnCuda, void* graph) noexcept {
  TESSERA_CUDA_LOG(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
}

}  // namespace tessera::internal
