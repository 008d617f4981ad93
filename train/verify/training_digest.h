#ifndef TESSERA_TRAIN_VERIFY_TRAINING_DIGEST_H_
#define TESSERA_TRAIN_VERIFY_TRAINING_DIGEST_H_
// Digests of what a training step begins with, by which two runs are compared, and a run with
// itself: the batch, the rows that it names with their optimizer states, the dense parameters with
// theirs. Where one item alone differs, its digest says which (located_sum.h): an example of the
// batch, a row's weights or a state of it, some elements of a dense tensor.
//
// A row that no batch names is in the digest of all rows, which is taken in the end.
#include <string>
#include <vector>

#include "data/data_source.h"
#include "runtime/tensor.h"
#include "train/trainer.h"
#include "train/verify/located_sum.h"

namespace tessera {

struct StepDigest {
  LocatedSum batch, rows, dense;
};

// Throws Error, naming a table where there is one to blame, for a training whose rows lie elsewhere
// than in this process's memory, or get their ids in the step: on a GPU, on several ranks, with
// managed_collision, a cache or a table on disk. `ranks`: 1 also for a training without any.
void CheckCanDigest(const TrainConfig& config, Device device, int ranks);

class TrainingDigest {
 public:
  // Throws Error as CheckCanDigest, and for one rank whose bits are not those of a training without
  // ranks: wire codecs, tables of several blocks, or with the rule dense. The trainer must outlive
  // this.
  explicit TrainingDigest(Trainer& trainer);

  // Digests what a step on this batch begins with. REQUIRES: a batch as the trainer takes it, in
  // host memory, sequences cut into their positions (RankingModel::WithPositions).
  StepDigest OfStep(const Batch& batch) const;
  // Digests all rows of all tables with their states, and the dense parameters with theirs.
  StepDigest OfState() const;

  // Name a place of a digest: "example 17 of the batch", "table t_user, row 5, weight",
  // "over_arch.0.weight, elements 1024 to 2047".
  static std::string NameInBatch(uint64_t place);
  std::string NameInRows(uint64_t place) const;
  std::string NameInDense(uint64_t place) const;

 private:
  // A tensor as items of so many bytes each, the last maybe of fewer.
  struct Items {
    std::string name;
    Tensor tensor;  // a state may be made for the asking
    int64_t item_bytes = 0, element_bytes = 0;
    uint64_t first_place = 0;

    int64_t count() const { return (tensor.nbytes() + item_bytes - 1) / item_bytes; }
    void Add(int64_t item, LocatedSum& to) const;
    void AddAll(LocatedSum& to) const;
  };
  // A table that lies whole in one of the embeddings of the model.
  struct WholeTable {
    const TableBatchedEmbedding* tables = nullptr;
    int index = 0;
  };
  void FindTables();
  void FindShardedTables();
  static const Items& ItemsAt(const std::vector<Items>& all, uint64_t place);
  // The weights and the states of each table; places depend on the configuration alone.
  std::vector<std::vector<Items>> Tables() const;
  std::vector<Items> Dense() const;
  LocatedSum OfBatch(const Batch& batch) const;
  LocatedSum OfNamedRows(const KeyedJaggedTensor& features) const;
  LocatedSum OfDense() const;

  Trainer& trainer_;
  std::vector<WholeTable> tables_;  // in the order of the configuration
  std::vector<EmbeddingFeature> features_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_TRAINING_DIGEST_H_
