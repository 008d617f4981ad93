#include "runtime/recorded_step.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/device/capture.h"

namespace tessera {

bool IsRecording(const Context& ctx) { return ctx.stream().capture() != nullptr; }

void CheckIsNotRecording(const Context& ctx, std::string_view what, std::string_view why) {
  TESSERA_CHECK(!IsRecording(ctx), "{} cannot be recorded in a CUDA graph: {}", what, why);
}

void RepeatOnLaunch(const Context& ctx, std::function<void()> again, std::function<void()> undo) {
  internal::Capture* capture = ctx.stream().capture();
  if (capture == nullptr) return;
  capture->before_launch.emplace_back([again = std::move(again)](void*) { again(); });
  capture->undo.push_back(std::move(undo));
}

}  // namespace tessera
