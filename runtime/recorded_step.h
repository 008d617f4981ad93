#ifndef TESSERA_RUNTIME_RECORDED_STEP_H_
#define TESSERA_RUNTIME_RECORDED_STEP_H_
// The host's part of a step that a CudaGraph records: it counts steps and changes learning rates,
// of which nothing is recorded. Each launch of the graph is one more step, so the host does this
// again before it; the kernels whose arguments depend on it are started by LaunchRecorded
// (runtime/recorded_launch.cuh).
#include <functional>
#include <string_view>

#include "runtime/context.h"

namespace tessera {

// Whether a CudaGraph is being recorded on ctx.
bool IsRecording(const Context& ctx);
// Throws Error, which begins with `what` and says `why`, while a CudaGraph is recorded on ctx.
void CheckIsNotRecording(const Context& ctx, std::string_view what, std::string_view why);

// For what the host has just done in a step. While a CudaGraph is recorded on ctx, `again` is
// called before each of its launches, in the order of these calls; and `undo`, which takes back
// what was done, when the recording ends, last to first. Otherwise neither is.
void RepeatOnLaunch(const Context& ctx, std::function<void()> again, std::function<void()> undo);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_RECORDED_STEP_H_
