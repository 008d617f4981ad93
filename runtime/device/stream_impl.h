#ifndef TESSERA_RUNTIME_DEVICE_STREAM_IMPL_H_
#define TESSERA_RUNTIME_DEVICE_STREAM_IMPL_H_
// A stream and an event of a device, and the functions of them that CUDA has.
#include <atomic>
#include <memory>

#include "runtime/device/stream.h"

namespace tessera {

struct Stream::Impl {
  Device device;
  void* handle;
  // Gives the queue back for the next Make.
  void (*release)(Device device, void* handle);
  // While a CudaGraph is recorded on it.
  mutable std::atomic<internal::Capture*> capture = nullptr;
  ~Impl() { release(device, handle); }
};
struct Event::Impl {
  Device device;
  void* handle;
  void (*release)(Device device, void* handle);
  bool captured;  // recorded while a CudaGraph was: nothing outside the graph can wait for it
  ~Impl() { release(device, handle); }
};

namespace internal {

std::shared_ptr<const Stream::Impl> MakeStream(OnCuda, Device device);
void SyncStream(OnCuda, const Stream::Impl& stream);
std::shared_ptr<const Event::Impl> RecordEvent(OnCuda, const Stream::Impl& stream);
bool EventDone(OnCuda, const Event::Impl& event);
void SyncEvent(OnCuda, const Event::Impl& event);
void HoldBack(OnCuda, const Event::Impl& event, const Stream::Impl& stream);
double SecondsBetween(OnCuda, const Event::Impl& begin, const Event::Impl& end);

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_STREAM_IMPL_H_
