#ifndef TESSERA_EMBEDDING_LOOKUP_FEATURE_IDS_H_
#define TESSERA_EMBEDDING_LOOKUP_FEATURE_IDS_H_
// The ids that features read of a KJT: their bounds checked as the data name them, then remapped
// where the table is pruned.
#include <span>
#include <string_view>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/lookup/bounds_check.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Feature `name` reads key number `key` for `table`.
struct ReadFeature {
  std::string_view name;
  size_t key;
  const BaseEmbeddingConfig* table;
};

// For each feature a tensor with as many elements as kjt.values(), in which its own range is to be
// read. Throws Error, in mode FATAL, for a bad id; see CheckIds.
std::vector<Tensor> ReadIds(Context& ctx, BoundsCheckMode mode, const KeyedJaggedTensor& kjt,
                            std::span<const ReadFeature> features, const BoundsCheckLog& findings);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_FEATURE_IDS_H_
