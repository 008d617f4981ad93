#include "runtime/graph.h"

#include "runtime/base/check.h"
#include "runtime/device/capture.h"
#include "runtime/device/dispatch.h"
#include "runtime/device/stream_impl.h"

namespace tessera {

struct CudaGraph::Impl {
  Stream stream;
  internal::Capture capture;
  void* graph = nullptr;

  ~Impl() {
    if (graph == nullptr) return;
    OnlyOnCuda(stream.device(), [&](auto on) { internal::DestroyGraph(on, graph); });
  }
};

namespace {

// A stream is recorded while one lives.
class Recording {
 public:
  Recording(const Stream& stream, const Stream::Impl& impl, internal::Capture& capture)
      : stream_(stream), impl_(impl) {
    OnlyOnCuda(stream_.device(), [&](auto on) { internal::BeginCapture(on, stream_); });
    impl_.capture = &capture;
  }
  ~Recording() {
    if (impl_.capture == nullptr) return;
    TakeBack();
    OnlyOnCuda(stream_.device(), [&](auto on) { internal::DropCapture(on, stream_); });
  }
  Recording(const Recording&) = delete;

  void* End() {
    TakeBack();
    void* graph = nullptr;
    OnlyOnCuda(stream_.device(), [&](auto on) { graph = internal::EndCapture(on, stream_); });
    return graph;
  }

 private:
  // Ends the recording for the host: nothing of what was recorded has happened.
  void TakeBack() {
    auto& undo = impl_.capture.load()->undo;
    for (auto back = undo.rbegin(); back != undo.rend(); ++back) (*back)();
    undo.clear();
    impl_.capture = nullptr;
  }

  const Stream& stream_;
  const Stream::Impl& impl_;
};

}  // namespace

CudaGraph CudaGraph::Capture(Context& ctx, const std::function<void()>& fn) {
  TESSERA_CHECK(ctx.device().type == DeviceType::kCuda,
                "a CUDA graph records the work of a GPU, but the context works on {}",
                ctx.device());
  TESSERA_CHECK(ctx.stream().capture() == nullptr, "a CUDA graph within another");
  auto impl = std::make_shared<Impl>();
  impl->stream = ctx.stream();
  impl->capture.memory_stream = Stream::Make(ctx.device());
  try {
    Recording recording(impl->stream, *ctx.stream().impl_, impl->capture);
    fn();
    impl->graph = recording.End();
  } catch (const Error& error) {
    throw Error(Format("while a CUDA graph was recorded: {}", error.what()));
  }
  impl->capture.memory_stream.Sync();  // what was taken on it is used on another
  CudaGraph graph;
  graph.impl_ = std::move(impl);
  return graph;
}

void CudaGraph::Launch(Context& ctx) const {
  TESSERA_CHECK(impl_ && ctx.stream().handle() == impl_->stream.handle(),
                "a CUDA graph is launched on the context that recorded it");
  for (const auto& call : impl_->capture.before_launch) call(impl_->graph);
  OnlyOnCuda(ctx.device(),
             [&](auto on) { internal::LaunchGraph(on, impl_->graph, impl_->stream); });
}

}  // namespace tessera
