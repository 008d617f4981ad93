#ifndef TESSERA_MODELS_RANKING_MODEL_H_
#define TESSERA_MODELS_RANKING_MODEL_H_
// Models that predict clicks, or other labels, from dense features and pooled rows: tables and a
// RankingNet.
//
//   RankingModel model(ctx, {.tables = tables, .net = {.type = RankingModelType::kDlrmDcn, …}});
//   const Variable outputs = model.Forward(ctx, dense, features);
//   tape.Backward(model.Loss(ctx, outputs, labels));
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/embedding_model.h"
#include "models/ranking_net.h"
#include "runtime/ops/loss.h"
#include "runtime/tensor.h"

namespace tessera {

// With attention, a table that reads a sequence "hist" gives the row of each of its positions: the
// collection reads the features "hist[0]", "hist[1]", … in its place.
struct RankingModelConfig {
  std::vector<EmbeddingBagConfig> tables;  // of one dim, but of mmoe and ple
  RankingNetConfig net;
  EmbeddingBagCollectionOptions embeddings = {};
  ManagedTableConfigs managed_collision = {};
};

// The tables as a collection holds them, with features for positions, and their managed collision.
std::vector<EmbeddingBagConfig> CollectionTables(const RankingModelConfig& config);
ManagedTableConfigs CollectionManagedTables(const RankingModelConfig& config);

// Candidates of all ranks, [B, E] with B the examples of the whole batch, and the place of this
// rank's first candidate among them.
struct AllCandidates {
  Variable rows;
  int64_t first = 0;
};
using CandidateGather = std::function<AllCandidates(const Variable& mine)>;

// Parameters: tables "sparse_arch.embedding_bag_collection.embedding_bags.<table>.weight",
// "sparse_arch.embedding_bag_collection._feature_processors.position_weights.<feature>", then the
// net's.
class RankingModel : public EmbeddingModel {
 public:
  // Throws Error for sizes that don't fit, naming the table whose dim is another one.
  RankingModel(Context& ctx, RankingModelConfig config,
               const std::optional<ModelSharding>& sharding = {});

  // dense [B, dense_in], features with stride B -> [B] of one task, [B, tasks] of several: logits
  // of tasks by bce, and the numbers of tasks by mse.
  Variable Forward(Context& ctx, const Variable& dense, const KeyedJaggedTensor& features);
  // The features that Pool takes: sequences split into their positions, all others as they are. On
  // a GPU the host waits if there are sequences to split. Forward does the same unless it is done.
  // Throws Error for a sequence that is missing, or has more ids than max_length.
  KeyedJaggedTensor WithPositions(Context& ctx, const KeyedJaggedTensor& features) const;
  // Forward from rows that are pooled already, [B, ΣD], as Pool returns them for features with
  // their positions whose ids have the position weights.
  Variable ForwardPooled(Context& ctx, const Variable& dense, const Variable& pooled) const;

  // Returns the loss of Forward's outputs, of shape []: the mean over the examples of cross
  // entropy, or of squared error for a task by mse, each times its weight if weights [B] are given.
  // REQUIRES: one task, not by in_batch_softmax.
  Variable Loss(Context& ctx, const Variable& outputs, const Tensor& labels,
                const Tensor& weights = {}) const;
  // Returns the loss of one of several tasks over the rows that count: Σ w·l·factor / Σ w, 0 if
  // none counts. For a task by in_batch_softmax, `gather` maps this rank's candidates to those of
  // all ranks, and log_q [B] of this rank's candidates, if defined, is subtracted from their
  // scores.
  Variable LossOfTask(Context& ctx, const Variable& outputs, size_t task, const LossRows& rows,
                      double factor = 1, const CandidateGather& gather = {},
                      const Tensor& log_q = {}) const;
  // Returns predictions from Forward's outputs, [B] of one task, [B, tasks] of several:
  // probabilities, or the numbers themselves for tasks by mse. Not recorded.
  Tensor Probabilities(Context& ctx, const Variable& outputs) const;

  const RankingModelConfig& config() const { return config_; }
  static constexpr char kTablePrefix[] = "sparse_arch.embedding_bag_collection.embedding_bags.";
  // kTablePrefix + table + ".weight".
  static std::string TableParameterName(const std::string& table);

 protected:
  void AppendDenseParameters(const std::string& prefix,
                             std::vector<NamedParameter>& out) const override;

 private:
  Variable LossOf(Context& ctx, const Variable& outputs, TaskLoss loss, const Tensor& labels,
                  const Tensor& weights, const LossOver& over) const;

  RankingModelConfig config_;
  std::optional<PositionWeightedModuleCollection> position_weights_;
  std::unique_ptr<RankingNet> net_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_RANKING_MODEL_H_
