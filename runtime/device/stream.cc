#include "runtime/device/stream.h"

#include "runtime/base/check.h"
#include "runtime/device/dispatch.h"
#include "runtime/device/stream_impl.h"

namespace tessera {

Stream Stream::Make(Device device) {
  Stream stream;
  OnlyOnCuda(device, [&](auto on) { stream.impl_ = internal::MakeStream(on, device); });
  return stream;
}

Device Stream::device() const { return impl_ ? impl_->device : Device::Cpu(); }
void* Stream::handle() const { return impl_ ? impl_->handle : nullptr; }

internal::Capture* Stream::capture() const { return impl_ ? impl_->capture.load() : nullptr; }

void Stream::CheckNotRecorded() const {
  TESSERA_CHECK(capture() == nullptr,
                "nothing can wait for {} while a CUDA graph is recorded: what was given to it runs "
                "only when the graph is launched",
                device());
}

void Stream::Sync() const {
  CheckNotRecorded();
  OnlyOnCuda(device(), [&](auto on) { internal::SyncStream(on, *impl_); });
}

Event Event::Record(const Stream& stream) {
  Event event;
  OnlyOnCuda(stream.device(),
             [&](auto on) { event.impl_ = internal::RecordEvent(on, *stream.impl_); });
  return event;
}

bool Event::done() const {
  bool done = true;
  if (impl_) OnlyOnCuda(impl_->device, [&](auto on) { done = internal::EventDone(on, *impl_); });
  return done;
}

void Event::Sync() const {
  if (impl_) OnlyOnCuda(impl_->device, [&](auto on) { internal::SyncEvent(on, *impl_); });
}

void Event::HoldBack(const Stream& stream) const {
  if (!impl_) return;
  // A stream of the CPU is the host itself.
  if (stream.impl_ == nullptr) return Sync();
  OnlyOnCuda(impl_->device, [&](auto on) { internal::HoldBack(on, *impl_, *stream.impl_); });
}

double Event::SecondsBetween(const Event& begin, const Event& end) {
  TESSERA_CHECK(begin.impl_ && end.impl_, "SecondsBetween: an event was not recorded on a GPU");
  double seconds = 0;
  OnlyOnCuda(begin.impl_->device,
             [&](auto on) { seconds = internal::SecondsBetween(on, *begin.impl_, *end.impl_); });
  return seconds;
}

}  // namespace tessera
