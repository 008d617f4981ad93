#ifndef TESSERA_RUNTIME_DEVICE_CAPTURE_H_
#define TESSERA_RUNTIME_DEVICE_CAPTURE_H_
// The memory that a CudaGraph keeps. While a stream is recorded, tensors that it orders take their
// memory by way of another stream, since the recorded one runs nothing; and no memory that recorded
// work may use is given back before the graph is gone.
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream.h"

namespace tessera::internal {

struct Capture {
  Stream memory_stream;
  std::mutex mutex;                         // guards `kept`
  std::vector<std::shared_ptr<void>> kept;  // storages of tensors
};

// Recording by CUDA. A graph is its handle.
void BeginCapture(OnCuda, const Stream& stream);
void* EndCapture(OnCuda, const Stream& stream);
void DropCapture(OnCuda, const Stream& stream) noexcept;
void LaunchGraph(OnCuda, void* graph, const Stream& stream);
void DestroyGraph(OnCuda, void* graph) noexcept;

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_DEVICE_CAPTURE_H_
