#include "tools/emulation/stream.h"

#include "tools/emulation/block.h"
#include "tools/emulation/memory.h"

namespace cuda_emulation {
namespace {

Counters counters;

void RunFront(cudaStream* stream) {
  const Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  const DeviceAccess access;
  work();
}

}  // namespace

std::recursive_mutex& Lock() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

cudaStream* StreamOf(cudaStream_t stream) {
  static auto& first = *new cudaStream;
  return stream ? stream : &first;
}

void RunAll(cudaStream* stream) {
  const DeviceAccess access;
  while (!stream->queue.empty()) RunFront(stream);
}

void RunUntil(const Recording& recording) {
  const DeviceAccess access;
  while (!recording.done && !recording.stream->queue.empty()) RunFront(recording.stream);
}

void Push(cudaStream* stream, Work work) {
  if (stream->capture)
    stream->capture->work.push_back(std::move(work));
  else
    stream->queue.push_back(std::move(work));
}

void CountSync() { ++counters.syncs; }
void CountCopy() { ++counters.copies; }
void CountForeignWait() { ++counters.foreign_waits; }

Counters Stats() {
  const std::lock_guard lock(Lock());
  return counters;
}

void Enqueue(void* stream, std::function<void()> work) {
  const std::lock_guard lock(Lock());
  Push(StreamOf(static_cast<cudaStream_t>(stream)), std::move(work));
}

void EnqueueGrid(void* stream, Extent grid, Extent block, size_t shared_bytes,
                 std::function<void()> thread, BindKernel bind) {
  const std::lock_guard lock(Lock());
  ++counters.launches;
  counters.threads += int64_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
  cudaStream* to = StreamOf(static_cast<cudaStream_t>(stream));
  if (to->capture) to->capture->kernels[to->capture->work.size()] = std::move(bind);
  Push(to, [=, thread = std::move(thread)] { RunGrid(grid, block, shared_bytes, thread); });
}

}  // namespace cuda_emulation
