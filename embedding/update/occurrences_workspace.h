#ifndef TESSERA_EMBEDDING_UPDATE_OCCURRENCES_WORKSPACE_H_
#define TESSERA_EMBEDDING_UPDATE_OCCURRENCES_WORKSPACE_H_
// The memory in which an update on a GPU sorts its occurrences: one allocation, cut into parts.
#include <cstddef>
#include <cstdint>

#include "embedding/update/occurrences_cuda.h"
#include "runtime/device/workspace_cutter.h"

namespace tessera::internal {

// Where a run's chunks and a group's runs are written. Those from run_chunk on are null if no run
// can be long.
struct SurveyParts {
  uint32_t *group_begin, *run_chunk;
  uint32_t *num_chunks, *num_long_runs;  // start at 0
  RowChunk* chunks;
  LongRun* long_runs;
  float* chunk_sums;
};

template <typename Key>
struct OccurrenceParts {
  OccurrencePointers<Key> collected, scratch;  // scratch has no weighted slots
  uint32_t *bases, *total;                     // total starts at 0
  uint32_t *starts, *num_runs;
  SurveyParts survey;
  size_t zero_bytes;  // from collected.payloads on: what starts at 0
};

inline bool MayHaveLongRuns(const OccurrencePlan& plan) { return plan.most_ids > kShortRun; }
inline bool NeedsSurvey(const OccurrencePlan& plan) {
  return plan.group_keys.size() > 1 || MayHaveLongRuns(plan);
}

inline SurveyParts CutSurvey(const OccurrencePlan& plan, uint32_t* counters, WorkspaceCutter& cut) {
  SurveyParts parts = {};
  if (!NeedsSurvey(plan)) return parts;
  const int64_t n = plan.most_ids;
  parts.group_begin = cut.Take<uint32_t>(static_cast<int64_t>(plan.group_keys.size()) + 1);
  if (!MayHaveLongRuns(plan)) return parts;
  // Each long run has more than kShortRun occurrences, and at most one chunk that is not full.
  const int64_t most_long_runs = n / kShortRun + 1, most_chunks = n / kChunk + most_long_runs;
  parts.run_chunk = cut.Take<uint32_t>(n);
  parts.num_chunks = counters;
  parts.num_long_runs = counters + 1;
  parts.chunks = cut.Take<RowChunk>(most_chunks);
  parts.long_runs = cut.Take<LongRun>(most_long_runs);
  parts.chunk_sums = cut.Take<float>(most_chunks * plan.chunk_stride);
  return parts;
}

// one_block: one block collects and sorts, in its shared memory.
template <typename Key>
OccurrenceParts<Key> CutOccurrences(const OccurrencePlan& plan, bool one_block,
                                    WorkspaceCutter& cut) {
  const int64_t n = plan.most_ids;
  OccurrenceParts<Key> parts = {};
  parts.collected.payloads = cut.Take<uint32_t>(n + 3);
  parts.total = parts.collected.payloads + n;
  parts.zero_bytes = static_cast<size_t>(n + 3) * sizeof(uint32_t);
  parts.scratch.keys = cut.Take<Key>(n);
  parts.scratch.payloads = cut.Take<uint32_t>(n);
  if (plan.weights != nullptr) parts.collected.weighted = cut.Take<WeightedSlot>(n);
  if (!one_block) {
    parts.collected.keys = cut.Take<Key>(n);
    parts.bases = cut.Take<uint32_t>(static_cast<int64_t>(plan.features.size()));
  }
  parts.starts = cut.Take<uint32_t>(n + 1);
  parts.num_runs = parts.starts + n;
  parts.survey = CutSurvey(plan, parts.total + 1, cut);
  return parts;
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_OCCURRENCES_WORKSPACE_H_
