#ifndef TESSERA_TRAIN_NN_DLRM_H_
#define TESSERA_TRAIN_NN_DLRM_H_
// TorchRec's DLRM (torchrec/models/dlrm.py): dense features through an MLP to D numbers, each
// sparse feature pooled from its table to D numbers, the dot products of all pairs beside the dense
// part, an MLP to one logit.
#include "embedding/embedding_bag_collection.h"
#include "train/nn/over_arch.h"

namespace tessera {

struct DlrmConfig {
  std::vector<EmbeddingBagConfig> tables;
  int64_t dense_in = 0;             // dense features
  std::vector<int64_t> dense_arch;  // sizes of the lower MLP; the last is D, the dim of every table
  std::vector<int64_t> over_arch;   // sizes of the upper MLP; the last is 1
  EmbeddingBagCollectionOptions embeddings;
};

// Parameters in this order, with TorchRec's names (tables are parameters only with the rule Dense,
// but always in StateDict):
//   sparse_arch.embedding_bag_collection.embedding_bags.<table>.weight
//   dense_arch.model._mlp.<i>._linear.{weight,bias}
//   over_arch.model.0._mlp.<i>._linear.{weight,bias}, over_arch.model.1.{weight,bias}
class Dlrm final : public Module {
 public:
  // Throws Error for sizes that don't fit: a table whose dim is not the last of dense_arch, an
  // over_arch that doesn't end in 1.
  Dlrm(Context& ctx, DlrmConfig config);

  // dense [B, dense_in], features with stride B -> logits [B].
  Variable Forward(Context& ctx, const Variable& dense, const KeyedJaggedTensor& features);

  // What the dense optimizer trains: all but the tables that are updated inside backward.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  // Everything a state_dict of this model has, sharing its memory.
  std::vector<NamedTensor> StateDict() const;
  // Copies these into the model. Throws Error, and changes nothing, for a name that is missing,
  // unknown or given twice, or a wrong shape or dtype.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors);

  const DlrmConfig& config() const { return config_; }
  EmbeddingBagCollection& embedding_bag_collection() { return embeddings_; }
  const EmbeddingBagCollection& embedding_bag_collection() const { return embeddings_; }
  // "sparse_arch.embedding_bag_collection.embedding_bags.<table>.weight".
  static std::string TableParameterName(const std::string& table);

 private:
  DlrmConfig config_;
  EmbeddingBagCollection embeddings_;
  Mlp dense_arch_;
  OverArch over_arch_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_NN_DLRM_H_
