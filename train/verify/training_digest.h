#ifndef TESSERA_TRAIN_VERIFY_TRAINING_DIGEST_H_
#define TESSERA_TRAIN_VERIFY_TRAINING_DIGEST_H_
// Digests of what a training step begins with, by which two runs are compared, and a run with
// itself: the batch, the rows that it names with their optimizer states, the dense parameters with
// theirs. Where one item alone differs, its digest says which (located_sum.h): an example of the
// batch, a row's weights or a state of it, some elements of a dense tensor.
//
// A row that no batch names is in the digest of all rows, which is taken in the end.
//
// On ranks each digests the rows that it holds, of the ids of all, and its copies of what all have.
#include <map>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "runtime/tensor.h"
#include "train/trainer.h"
#include "train/verify/digest_items.h"
#include "train/verify/step_digest.h"

namespace tessera {

// Throws Error, naming a table where there is one to blame, for a training whose rows lie elsewhere
// than in its processes' memory, get their ids in the step, or are several: on a GPU, with
// managed_collision, a cache or a table on disk, in sharding groups. The second throws for what a
// plan brings along: rows in a cache or on disk, and tables with the rule dense.
void CheckCanDigest(const TrainConfig& config, Device device, int groups);
void CheckCanDigest(const TrainConfig& config, const ShardingPlan& plan);

class TrainingDigest {
 public:
  // Throws Error as CheckCanDigest. The trainer must outlive this. Every rank calls.
  explicit TrainingDigest(Trainer& trainer);

  // Digests what a step on a batch begins with; one digest a rank (step_digest.h). Every rank
  // calls. REQUIRES: this rank's part of the batch as the trainer takes it, in host memory,
  // sequences cut into their positions (RankingModel::WithPositions).
  std::vector<StepDigest> OfStepSync(const Batch& part) const;
  // Digests all rows of all tables with their states, and the dense parameters with theirs,
  // likewise.
  std::vector<StepDigest> OfStateSync() const;

  // Name a place of a digest: "example 17 of the batch", "table t_user, row 5, weight", on ranks
  // "table t_user, row 5, weight (of rank 1)", "over_arch.0.weight, elements 1024 to 2047".
  static std::string NameInBatch(uint64_t place);
  std::string NameInRows(uint64_t place) const;
  std::string NameInDense(uint64_t place) const;

 private:
  struct Table {
    std::string name;
    int64_t rows = 0;
    std::vector<std::string> tensors = {};  // weights, then states
    uint64_t first_place = 0;               // of its first tensor; each takes `rows` places
  };
  // A table, or what a rank has of one.
  struct Part {
    int table = 0;
    const TableBatchedEmbedding* held = nullptr;
    int index = 0;  // in `held`
    int64_t first_row = 0, first_column = 0;
    bool is_copy = false;  // every rank has one
  };
  void FindTables();
  void FindShardedTables();
  // Names the tensors of all tables, of which this rank may have none.
  void NameTensorsSync();
  std::vector<RowItems> ItemsOf(const Part& part) const;
  std::vector<DenseItems> Dense() const;
  LocatedSum OfBatch(const Batch& batch) const;
  void AddNamedRows(const KeyedJaggedTensor& features, PartDigest& digest) const;
  LocatedSum OfDense() const;
  std::string RanksWith(const Table& table, int64_t row) const;

  Trainer& trainer_;
  std::vector<Table> tables_;  // in the order of the configuration
  std::vector<Part> parts_;
  std::vector<EmbeddingFeature> features_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_TRAINING_DIGEST_H_
