// Recording of streams, over CUDA's runtime.
#include <memory>

#include "runtime/base/check.h"
#include "runtime/device/capture.h"
#include "runtime/device/cuda_check.h"

namespace tessera::internal {
namespace {

// The handle of a graph: the recorded one names the nodes of the launched one.
struct Graph {
  cudaGraph_t recorded = nullptr;
  cudaGraphExec_t launched = nullptr;
};

}  // namespace

// The capture mode is relaxed: memory may be taken, on other streams, while this one is recorded.
void BeginCapture(OnCuda, const Stream& stream) {
  UseDevice(stream.device());
  TESSERA_CUDA_CHECK(cudaStreamBeginCapture(CudaStream(stream), cudaStreamCaptureModeRelaxed));
}

void* EndCapture(OnCuda, const Stream& stream) {
  Graph graph;
  TESSERA_CUDA_CHECK(cudaStreamEndCapture(CudaStream(stream), &graph.recorded));
  const cudaError_t error = cudaGraphInstantiate(&graph.launched, graph.recorded, 0);
  if (error != cudaSuccess) TESSERA_CUDA_LOG(cudaGraphDestroy(graph.recorded));
  TESSERA_CUDA_CHECK(error);
  return new Graph(graph);
}

// An error here repeats one that the recording has met before.
void DropCapture(OnCuda, const Stream& stream) noexcept {
  cudaGraph_t recorded = nullptr;
  if (cudaStreamEndCapture(CudaStream(stream), &recorded) != cudaSuccess) (void)cudaGetLastError();
  if (recorded != nullptr) TESSERA_CUDA_LOG(cudaGraphDestroy(recorded));
}

void LaunchGraph(OnCuda, void* graph, const Stream& stream) {
  UseDevice(stream.device());
  TESSERA_CUDA_CHECK(cudaGraphLaunch(static_cast<Graph*>(graph)->launched, CudaStream(stream)));
}

void DestroyGraph(OnCuda, void* graph) noexcept {
  const std::unique_ptr<Graph> handles(static_cast<Graph*>(graph));
  TESSERA_CUDA_LOG(cudaGraphExecDestroy(handles->launched));
  TESSERA_CUDA_LOG(cudaGraphDestroy(handles->recorded));
}

void* LastNode(OnCuda, const Stream& stream) {
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
#if defined(CUDART_VERSION) && CUDART_VERSION < 13000
  TESSERA_CUDA_CHECK(
      cudaStreamGetCaptureInfo_v2(CudaStream(stream), &status, nullptr, nullptr, &nodes, &count));
#else
  TESSERA_CUDA_CHECK(cudaStreamGetCaptureInfo(CudaStream(stream), &status, nullptr, nullptr, &nodes,
                                              nullptr, &count));
#endif
  TESSERA_CHECK(status == cudaStreamCaptureStatusActive && count == 1,
                "a recorded stream whose last launch is {} nodes", count);
  return nodes[0];
}

void SetArgument(OnCuda, void* graph, const RecordedKernel& recorded, void* argument) {
  const unsigned *grid = recorded.grid, *block = recorded.block;
  cudaKernelNodeParams params = {};
  params.func = const_cast<void*>(recorded.kernel);
  params.gridDim = dim3(grid[0], grid[1], grid[2]);
  params.blockDim = dim3(block[0], block[1], block[2]);
  params.sharedMemBytes = static_cast<unsigned>(recorded.shared_bytes);
  params.kernelParams = &argument;
  TESSERA_CUDA_CHECK(cudaGraphExecKernelNodeSetParams(
      static_cast<Graph*>(graph)->launched, static_cast<cudaGraphNode_t>(recorded.node), &params));
}

}  // namespace tessera::internal
