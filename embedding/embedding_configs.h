#ifndef TESSERA_EMBEDDING_EMBEDDING_CONFIGS_H_
#define TESSERA_EMBEDDING_EMBEDDING_CONFIGS_H_
// What a table is, before it exists: the names are TorchRec's
// (torchrec/modules/embedding_configs.py).
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedding/pooling.h"
#include "optim/any_rule.h"
#include "runtime/tensor.h"

namespace tessera {

struct BaseEmbeddingConfig {
  std::string name;
  int64_t num_embeddings = 0;  // rows, E
  int64_t embedding_dim = 0;   // D
  std::vector<std::string> feature_names;
  DType data_type = DType::kF32;
  // Rows start uniform in this range; absent: ±√(1/E), as in TorchRec.
  std::optional<std::pair<float, float>> init_range;
  // Fills the [E, D] weight instead, if given.
  std::function<void(Context&, const Tensor&)> init_fn;
  // Applied to the touched rows inside backward; Dense{} makes the table an ordinary variable
  // instead.
  AnyRule optimizer = Sgd{};
};

struct EmbeddingBagConfig : BaseEmbeddingConfig {
  PoolingType pooling = PoolingType::kSum;  // kSum or kMean
};

struct EmbeddingConfig : BaseEmbeddingConfig {};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_EMBEDDING_CONFIGS_H_
