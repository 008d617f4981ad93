#include "train/pipeline/pipeline_kind.h"

#include <array>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 5> kNames = {"none", "base", "sparse_dist", "prefetch",
                                                    "semi_sync"};

}  // namespace

std::string_view ToString(PipelineKind kind) { return kNames[static_cast<size_t>(kind)]; }

PipelineKind ParsePipelineKind(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<PipelineKind>(i);
  throw Error(
      Format("pipeline '{}': expected none, base, sparse_dist, prefetch or semi_sync", name));
}

void CheckGroupPipeline(PipelineKind kind) {
  if (kind != PipelineKind::kPrefetch && kind != PipelineKind::kSemiSync) return;
  throw Error(
      Format("--sharding-group-size beside --pipeline {}: it brings rows of the next batch before "
             "the groups' copies of them become their mean; expected --pipeline none, base or "
             "sparse_dist",
             ToString(kind)));
}

}  // namespace tessera
