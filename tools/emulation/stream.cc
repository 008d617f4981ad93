#include "tools/emulation/stream.h"

#include "tools/emulation/memory.h"

namespace cuda_emulation {
namespace {

Counters counters;

void RunFront(cudaStream_t stream) {
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

cudaStream_t StreamOf(cudaStream_t stream) {
  static auto& first = *new CUstream_st;
  return stream ? stream : &first;
}

void RunAll(cudaStream_t stream) {
  const DeviceAccess access;
  while (!stream->queue.empty()) RunFront(stream);
}

void RunUntil(const Recording& recording) {
  const DeviceAccess access;
  while (!recording.done && !recording.stream->queue.empty()) RunFront(recording.stream);
}

void Push(cudaStream_t stream, Work work) {
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

void EnqueueLaunch(void* stream, const Shape& shape, void** params, const BindLaunch& bind) {
  const std::lock_guard lock(Lock());
  const auto count = [](const Extent& e) { return int64_t{e.x} * e.y * e.z; };
  ++counters.launches;
  counters.threads += count(shape.grid) * count(shape.block);
  cudaStream_t to = StreamOf(static_cast<cudaStream_t>(stream));
  if (to->capture) to->capture->kernels[to->capture->work.size()] = bind;
  Push(to, bind(shape, params));
}

}  // namespace cuda_emulation
