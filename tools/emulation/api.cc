// The C interface of the CUDA runtime, on top of streams and memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "tools/emulation/memory.h"
#include "tools/emulation/stream.h"

using namespace cuda_emulation;

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;
int device_count = [] {
  const char* text = std::getenv("TESSERA_EMULATION_DEVICES");
  return text == nullptr ? 1 : std::atoi(text);
}();
std::function<void()> pinned_hook;

std::vector<cudaStream_t>& Streams() {
  static auto& streams = *new std::vector<cudaStream_t>;
  return streams;
}

void RunEverything() {
  RunAll(StreamOf(nullptr));
  for (cudaStream_t stream : Streams()) RunAll(stream);
}

// A call that a capture does not allow ends the capture.
cudaError_t Break(cudaStream_t stream) {
  stream->broken = true;
  return Result(cudaErrorStreamCaptureUnsupported);
}

void CheckChosen(int device) {
  if (device != current_device) CountForeignWait();
}

bool AnyCapture() {
  return std::any_of(Streams().begin(), Streams().end(),
                     [](cudaStream_t s) { return s->capture != nullptr; });
}

cudaError_t BreakAll() {
  for (cudaStream_t stream : Streams())
    if (stream->capture) (void)Break(stream);
  return Result(cudaErrorStreamCaptureUnsupported);
}

// Copies of pinned and device memory run in the order of the stream. Ordinary host memory is copied
// as hardware does: read before the call returns, and written before it returns. One rule is
// stricter than hardware: a graph, which would read it when it runs, may not have it.
bool InStreamOrder(const void* p) { return IsDevice(p) || IsPinned(p); }

cudaError_t Copy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                   size_t height, cudaStream_t handle) {
  const std::lock_guard lock(Lock());
  if (width == 0 || height == 0) return cudaSuccess;
  CountCopy();
  cudaStream_t stream = StreamOf(handle);
  if (stream->capture && !(InStreamOrder(from) && InStreamOrder(to))) return Break(stream);
  const auto copy = [=](const void* source, size_t pitch) {
    for (size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch,
                  static_cast<const char*>(source) + row * pitch, width);
  };
  if (!InStreamOrder(from)) {
    std::vector<char> staged(width * height);
    for (size_t row = 0; row < height; ++row)
      std::memcpy(staged.data() + row * width, static_cast<const char*>(from) + row * from_pitch,
                  width);
    Push(stream, [=, staged = std::move(staged)] { copy(staged.data(), width); });
  } else {
    Push(stream, [=] { copy(from, from_pitch); });
  }
  if (!InStreamOrder(to)) {
    CountSync();
    RunAll(stream);
  }
  return cudaSuccess;
}

}  // namespace

struct CUmemPoolHandle_st {
  std::vector<int> peers;
};

namespace {

cudaMemPool_t PoolOf(int device) {
  static auto& pools = *new std::map<int, CUmemPoolHandle_st>;
  return &pools[device];
}

}  // namespace

namespace cuda_emulation {

cudaError_t Result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void SetDeviceCount(int count) { device_count = count; }
std::vector<int> PeersOfPool(int device) {
  const std::lock_guard lock(Lock());
  return PoolOf(device)->peers;
}
void SetPinnedHook(std::function<void()> hook) { pinned_hook = std::move(hook); }

}  // namespace cuda_emulation

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    case cudaErrorCapturedEvent:
      return "cudaErrorCapturedEvent";
    default:
      return "unknown error";
  }
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count;
  return cudaSuccess;
}
// Few multiprocessors, so that small tests see loops over more work than fits at once.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device >= device_count) return Result(cudaErrorInvalidDevice);
  *p = {};
  std::snprintf(p->name, sizeof p->name, "emulated on the CPU");
  p->uuid.bytes[15] = static_cast<char>(device);
  p->totalGlobalMem = static_cast<size_t>(DeviceBytesLimit());
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->major = 9;
  p->multiProcessorCount = 4;
  p->l2CacheSize = 50 << 20;
  p->regsPerMultiprocessor = 65536;
  p->maxThreadsPerMultiProcessor = 2048;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count) return Result(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(Lock());
  if (AnyCapture()) return BreakAll();
  CountSync();
  RunEverything();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(Lock());
  Streams().push_back(*stream = new CUstream_st);
  (*stream)->device = current_device;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(Lock());
  RunAll(stream);
  std::erase(Streams(), stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const std::lock_guard lock(Lock());
  cudaStream_t stream = StreamOf(handle);
  CheckChosen(stream->device);
  if (stream->capture) return Break(stream);
  CountSync();
  RunAll(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::lock_guard lock(Lock());
  return StreamOf(stream)->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(Lock());
  if (!event->last) return cudaSuccess;
  // Captures that fork and join are not emulated.
  if (event->last->captured && !StreamOf(stream)->capture) return Result(cudaErrorCapturedEvent);
  if (!event->last->captured && StreamOf(stream)->capture)
    return Result(cudaErrorStreamCaptureIsolation);
  Push(StreamOf(stream), [recording = event->last] { RunUntil(*recording); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const std::lock_guard lock(Lock());
  cudaStream_t stream = StreamOf(handle);
  event->last = std::make_shared<Recording>();
  event->last->stream = stream;
  event->last->device = stream->device;
  event->last->captured = stream->capture != nullptr;
  Push(stream, [recording = event->last] {
    recording->done = true;
    recording->time = std::chrono::steady_clock::now();
  });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(Lock());
  if (!event->last) return cudaSuccess;
  CheckChosen(event->last->device);
  if (event->last->captured) return Result(cudaErrorCapturedEvent);
  CountSync();
  RunUntil(*event->last);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(Lock());
  if (event->last) CheckChosen(event->last->device);
  if (event->last && event->last->captured) return Result(cudaErrorCapturedEvent);
  return !event->last || event->last->done ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin->last || !end->last || !end->last->done || !begin->last->done)
    return Result(cudaErrorNotReady);
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->last->time - begin->last->time).count();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  const std::lock_guard lock(Lock());
  *pool = PoolOf(device);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* accesses,
                                 size_t count) {
  const std::lock_guard lock(Lock());
  for (size_t i = 0; i < count; ++i) pool->peers.push_back(accesses[i].location.id);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  *static_cast<uint64_t*>(value) = static_cast<uint64_t>(DeviceBytesInUse());
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

// Memory that belongs to a graph is not emulated: it has to be allocated before.
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t handle) {
  const std::lock_guard lock(Lock());
  if (StreamOf(handle)->capture) return Break(StreamOf(handle));
  *pointer = AllocateDevice(static_cast<int64_t>(bytes));
  if (*pointer == nullptr && !AnyCapture()) {  // memory comes back when what frees it has run
    RunEverything();
    *pointer = AllocateDevice(static_cast<int64_t>(bytes));
  }
  return *pointer ? cudaSuccess : Result(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  const std::lock_guard lock(Lock());
  if (StreamOf(handle)->capture) return Break(StreamOf(handle));
  Push(StreamOf(handle), [=] { FreeDevice(pointer); });
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  if (pinned_hook) pinned_hook();
  *pointer = AllocatePinned(static_cast<int64_t>(bytes));
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  if (pinned_hook) pinned_hook();
  FreePinned(pointer);
  return cudaSuccess;
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  if (flags != cudaMemAttachGlobal) return Result(cudaErrorInvalidValue);
  *pointer = AllocatePinned(static_cast<int64_t>(bytes));
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void* pointer, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return IsPinned(pointer) ? cudaSuccess : Result(cudaErrorInvalidValue);
}
// Frees managed memory. Waits for the device.
cudaError_t cudaFree(void* pointer) {
  const std::lock_guard lock(Lock());
  RunEverything();
  FreePinned(pointer);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *total = static_cast<size_t>(DeviceBytesLimit());
  *available = static_cast<size_t>(std::max<int64_t>(0, DeviceBytesLimit() - DeviceBytesInUse()));
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return Copy2D(to, bytes, from, bytes, bytes, 1, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return Result(cudaErrorInvalidValue);
  return Copy2D(to, to_pitch, from, from_pitch, width, height, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(Lock());
  if (bytes > 0) Push(StreamOf(stream), [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  const std::lock_guard lock(Lock());
  if (handle == nullptr || handle->capture) return Result(cudaErrorStreamCaptureUnsupported);
  handle->capture = std::make_unique<CUgraph_st>();
  handle->broken = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const std::lock_guard lock(Lock());
  *graph = nullptr;
  if (handle == nullptr || !handle->capture) return Result(cudaErrorInvalidValue);
  const std::unique_ptr<CUgraph_st> captured = std::move(handle->capture);
  if (handle->broken) return Result(cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st(*captured);
  return cudaSuccess;
}
