#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_MANAGED_COLLISION_MODULE_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_MANAGED_COLLISION_MODULE_H_
// A ManagedCollisionModule over a GrowingIndex, for a table of max_rows + S rows: an id has a row
// from the batch that admits it, not from the next eviction interval on, and may have any row.
//
//   rows 0 to S − 1   of ids without one, which share them by hash
//   row r + S         the index's row r
//
// So rows come into use one after another, as a table with `growing` wants them (its rows and
// states take memory by and by); any other table of so many rows does too. On a GPU a training
// forward waits only if neither Evict nor StartRows has taken the rows of the last four;
// rows_in_use, Evict and state dicts wait for it.
#include <functional>
#include <span>
#include <vector>

#include "embedding/managed_collision/growing_index.h"
#include "embedding/managed_collision/managed_collision_module.h"
#include "runtime/tensor.h"

namespace tessera {

class GrowingManagedCollisionModule final : public ManagedCollisionModule {
 public:
  // S is options.shared_rows.
  explicit GrowingManagedCollisionModule(GrowingIndexOptions options);

  int64_t output_size() const override { return index_.max_rows() + shared_rows_; }
  int64_t rows_in_use() const override { return index_.num_rows() + shared_rows_; }
  int64_t input_size() const override { return 0; }
  int64_t NumIdsSync(Context&) const override { return index_.size(); }
  int64_t num_evicted() const override;
  bool StartRows(const std::function<bool(const RowsToStart& rows)>& start) override;
  const GrowingIndex& index() const { return index_; }

  // The index's, and _evicted_indices i64 [k], not yet asked for.
  std::vector<NamedTensor> StateDict(Context& ctx) const override;
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) override;

 private:
  std::vector<Tensor> Map(Context& ctx, std::span<const Tensor> ids, bool training) override;
  // The table's rows, in new memory.
  Tensor RowsOf(Context& ctx, const Tensor& ids, bool training);
  std::vector<int64_t> ChangedSync(const Tensor& given) const override;
  void ReadSync() override;

  int64_t shared_rows_;
  GrowingIndex index_;
  bool started_ = false;  // whether StartRows was the last to take rows of a GPU
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_MANAGED_COLLISION_MODULE_H_
