#ifndef TESSERA_TRAIN_PIPELINE_PIPELINE_KIND_H_
#define TESSERA_TRAIN_PIPELINE_PIPELINE_KIND_H_
// Which pipeline a training runs by (train_pipeline.h).
#include <string>
#include <string_view>

namespace tessera {

enum class PipelineKind { kNone, kBase, kSparseDist, kPrefetch, kSemiSync };

// "none", "base", "sparse_dist", "prefetch", "semi_sync".
std::string_view ToString(PipelineKind kind);
// Throws Error, listing the names, for another one.
PipelineKind ParsePipelineKind(const std::string& name);

// Throws Error, which names both, for pipelines that sharding groups (train/ranks.h) refuse beside
// them: those that bring rows, not ids alone, before their step.
void CheckGroupPipeline(PipelineKind kind);

}  // namespace tessera
#endif  // TESSERA_TRAIN_PIPELINE_PIPELINE_KIND_H_
