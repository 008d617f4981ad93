#ifndef TESSERA_RUNTIME_DEVICE_STREAM_H_
#define TESSERA_RUNTIME_DEVICE_STREAM_H_
// Queues that order a device's work, and events that mark places in them. Work on one stream runs
// in the order it was given; between streams only events make an order. A CPU has no streams:
// there, every call has done its work when it returns, and the functions below do nothing.
#include <memory>

#include "runtime/device/device.h"

namespace tessera {

namespace internal {
struct Capture;
}  // namespace internal

// A handle: copies are the same queue. A queue whose last handle goes is used again by others; what
// was given to it still runs.
class Stream {
 public:
  Stream() = default;  // the CPU's
  static Stream Make(Device device);

  Device device() const;
  void* handle() const;  // cudaStream_t
  // Waits for all that was given so far. Throws Error if any of it failed, or while a CudaGraph is
  // recorded on it.
  void Sync() const;
  void CheckNotRecorded() const;
  // The recording of a CudaGraph that is under way on this stream, else nullptr.
  internal::Capture* capture() const;

  struct Impl;

 private:
  friend class Event;
  friend class CudaGraph;
  std::shared_ptr<const Impl> impl_;
};

// A place in a stream. A handle.
class Event {
 public:
  Event() = default;  // long past
  // Marks the end of what `stream` was given so far.
  static Event Record(const Stream& stream);

  bool done() const;
  void Sync() const;
  // Lets work that `stream` is given from now on wait for this event; the host does not wait.
  void HoldBack(const Stream& stream) const;
  // Time of the device between two events. Waits for `end`. REQUIRES: both were recorded on streams
  // of a CUDA device.
  static double SecondsBetween(const Event& begin, const Event& end);

  struct Impl;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_STREAM_H_
