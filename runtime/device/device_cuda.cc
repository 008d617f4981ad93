// GPUs, streams and events, over CUDA's runtime.
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/device/cuda_check.h"
#include "runtime/device/device_properties.h"
#include "runtime/device/stream_impl.h"

namespace tessera::internal {
namespace {

// Streams and events that nobody holds, kept for the next: making one costs some microseconds.
class HandlePool {
 public:
  void* Take(Device device) {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& idle = idle_[device.index];
    if (idle.empty()) return nullptr;
    void* handle = idle.back();
    idle.pop_back();
    return handle;
  }
  void Give(Device device, void* handle) {
    const std::lock_guard lock(mutex_);
    idle_[device.index].push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<void*>> idle_;
};

// Never destroyed: CUDA may be gone by then.
HandlePool& IdleStreams() {
  static HandlePool& pool = *new HandlePool;
  return pool;
}
HandlePool& IdleEvents() {
  static HandlePool& pool = *new HandlePool;
  return pool;
}

void CheckNotRecorded(const Event::Impl& event) {
  TESSERA_CHECK(!event.captured,
                "nothing outside a CUDA graph can wait for what was recorded into it on {}: it "
                "runs only when the graph is launched",
                event.device);
}

cudaEvent_t Handle(const Event::Impl& event) { return static_cast<cudaEvent_t>(event.handle); }
cudaStream_t Handle(const Stream::Impl& stream) { return static_cast<cudaStream_t>(stream.handle); }

std::string TextOf(const cudaUUID_t& uuid) {
  std::string text;
  for (const char byte : uuid.bytes)
    text += Format("{:02x}", int{static_cast<unsigned char>(byte)});
  return text;
}

}  // namespace

void LogCudaError(cudaError_t error, const char* call) noexcept {
  if (error != cudaSuccess) std::fprintf(stderr, "CUDA: %s: %s\n", call, cudaGetErrorString(error));
}

void UseDevice(Device device) { TESSERA_CUDA_CHECK(cudaSetDevice(device.index)); }

int DeviceCount(OnCuda) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error == cudaSuccess ? count : 0;
}

void CheckUsable(OnCuda, Device device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) (void)cudaGetLastError();
  TESSERA_CHECK(error == cudaSuccess && count > 0, "device {}: this machine has no GPU to use ({})",
                device, error == cudaSuccess ? "none is visible" : cudaGetErrorString(error));
  TESSERA_CHECK(device.index < count, "device {}: this machine has {} {}", device, count,
                count == 1 ? "GPU" : "GPUs");
}

const DeviceProperties& PropertiesOf(OnCuda, Device device) {
  static std::mutex mutex;
  static auto& known = *new std::map<int, DeviceProperties>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device.index);
  if (found != known.end()) return found->second;
  cudaDeviceProp p;
  TESSERA_CUDA_CHECK(cudaGetDeviceProperties(&p, device.index));
  return known[device.index] = {p.name,
                                TextOf(p.uuid),
                                p.major * 10 + p.minor,
                                p.multiProcessorCount,
                                static_cast<int64_t>(p.totalGlobalMem),
                                p.l2CacheSize,
                                static_cast<int64_t>(p.sharedMemPerBlockOptin)};
}

int64_t FreeMemoryOf(OnCuda, Device device) {
  UseDevice(device);
  size_t available = 0, total = 0;
  TESSERA_CUDA_CHECK(cudaMemGetInfo(&available, &total));
  return static_cast<int64_t>(available);
}

std::shared_ptr<const Stream::Impl> MakeStream(OnCuda, Device device) {
  UseDevice(device);
  void* handle = IdleStreams().Take(device);
  if (handle == nullptr) {
    cudaStream_t stream;
    TESSERA_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    handle = stream;
  }
  return std::shared_ptr<const Stream::Impl>(
      new Stream::Impl{device, handle, [](Device d, void* h) { IdleStreams().Give(d, h); }});
}

// Whoever waits or asks may be a thread that has not chosen a device: CUDA would make a context on
// the first one.
void SyncStream(OnCuda, const Stream::Impl& stream) {
  UseDevice(stream.device);
  TESSERA_CUDA_CHECK(cudaStreamSynchronize(Handle(stream)));
}

std::shared_ptr<const Event::Impl> RecordEvent(OnCuda, const Stream::Impl& stream) {
  UseDevice(stream.device);
  void* handle = IdleEvents().Take(stream.device);
  if (handle == nullptr) {
    cudaEvent_t event;
    TESSERA_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDefault));
    handle = event;
  }
  std::shared_ptr<const Event::Impl> event(
      new Event::Impl{stream.device, handle, [](Device d, void* h) { IdleEvents().Give(d, h); },
                      stream.capture.load() != nullptr});
  TESSERA_CUDA_CHECK(cudaEventRecord(Handle(*event), Handle(stream)));
  return event;
}

bool EventDone(OnCuda, const Event::Impl& event) {
  UseDevice(event.device);
  const cudaError_t error = cudaEventQuery(Handle(event));
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  TESSERA_CUDA_CHECK(error);
  return true;
}

void SyncEvent(OnCuda, const Event::Impl& event) {
  CheckNotRecorded(event);
  UseDevice(event.device);
  TESSERA_CUDA_CHECK(cudaEventSynchronize(Handle(event)));
}

// A recorded wait for work outside the recording, or the reverse, would join both streams: CUDA
// then records, or ends the recording of, a stream that nobody asked it to.
void HoldBack(OnCuda, const Event::Impl& event, const Stream::Impl& stream) {
  const bool recorded = stream.capture.load() != nullptr;
  if (!recorded) CheckNotRecorded(event);
  TESSERA_CHECK(event.captured || !recorded,
                "while a CUDA graph is recorded on {}, its stream cannot wait for work that was "
                "given to another stream before: wait for that work before the recording",
                stream.device);
  UseDevice(stream.device);
  TESSERA_CUDA_CHECK(cudaStreamWaitEvent(Handle(stream), Handle(event), 0));
}

double SecondsBetween(OnCuda, const Event::Impl& begin, const Event::Impl& end) {
  SyncEvent(OnCuda{}, end);
  float milliseconds = 0;
  TESSERA_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, Handle(begin), Handle(end)));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tessera::internal
