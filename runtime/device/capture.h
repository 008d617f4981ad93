#ifndef TESSERA_RUNTIME_DEVICE_CAPTURE_H_
#define TESSERA_RUNTIME_DEVICE_CAPTURE_H_
// A CudaGraph keeps this: memory, and what the host does again before each launch. While a stream
// is recorded, tensors that it orders take their memory by way of another stream, since the
// recorded one runs nothing; and no memory that recorded work may use is given back before the
// graph is gone.
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream.h"

namespace tessera::internal {

struct Capture {
  Stream memory_stream;
  std::mutex mutex;                         // guards `kept`
  std::vector<std::shared_ptr<void>> kept;  // storages of tensors
  // Called in order before each launch of the graph, with its handle: they count steps, and renew
  // the arguments of kernels that depend on them (runtime/recorded_step.h).
  std::vector<std::function<void(void* graph)>> before_launch;
  // Called last to first when the recording ends: they take back what the host did as the first
  // launch will do it.
  std::vector<std::function<void()>> undo;
};

// A launch as it was recorded.
struct RecordedKernel {
  const void* kernel;
  unsigned grid[3], block[3];
  size_t shared_bytes;
  void* node;
};

// Recording by CUDA. A graph is its handle.
void BeginCapture(OnCuda, const Stream& stream);
void* EndCapture(OnCuda, const Stream& stream);
void DropCapture(OnCuda, const Stream& stream) noexcept;
void LaunchGraph(OnCuda, void* graph, const Stream& stream);
void DestroyGraph(OnCuda, void* graph) noexcept;
// The node of what the stream, which is being recorded, was given last.
void* LastNode(OnCuda, const Stream& stream);
// Launches of the graph from now on run the kernel with the one argument at `argument`.
void SetArgument(OnCuda, void* graph, const RecordedKernel& recorded, void* argument);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_DEVICE_CAPTURE_H_
