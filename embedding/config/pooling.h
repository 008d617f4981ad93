#ifndef TESSERA_EMBEDDING_CONFIG_POOLING_H_
#define TESSERA_EMBEDDING_CONFIG_POOLING_H_
// The two small choices of a collection: how bags are pooled, and what a bad id does.
#include <string>

namespace tessera {

// How the rows of a bag become one. kNone keeps every row (a sequence).
enum class PoolingType { kSum, kMean, kNone };
std::string ToString(PoolingType pooling);  // "SUM", "MEAN", "NONE"
PoolingType ParsePoolingType(const std::string& name);

// Reaction to an id outside [0, num_embeddings) or a bad offset, as in FBGEMM's
// bounds_check_indices.
enum class BoundsCheckMode { kFatal, kWarning, kIgnore, kNone };
std::string ToString(BoundsCheckMode mode);  // "FATAL", …
BoundsCheckMode ParseBoundsCheckMode(const std::string& name);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CONFIG_POOLING_H_
