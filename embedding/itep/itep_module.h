#ifndef TESSERA_EMBEDDING_ITEP_ITEP_MODULE_H_
#define TESSERA_EMBEDDING_ITEP_ITEP_MODULE_H_
// In-training embedding pruning (torchrec/modules/itep_modules.py): a table has fewer rows than
// ids, and now and then rows go from ids that are hardly used to ids that are. Ids without a row
// share row 0. itep_table.h says who gets one.
//
// Training forward n (from 0), with interval I (d | n: d divides n):
//
//   prunes   n < 10 and 3 | n + 1;  n < 100 and 30 | n + 1;  n < 1000 and 300 | n + 1;
//            or I | n + 1;
//            before that, where n > I, the counts of ids are multiplied by 0.98
//   counts   n < 10;  n < 100 and 19 | n + 1;  or 39 | n + 1
//
// Pruning comes first, then ids become rows, then they are counted. Other forwards only read.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/itep/itep_table.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

struct ItepOptions {
  // Tables, and how many ids each has. Others are not pruned.
  std::vector<std::pair<std::string, int64_t>> table_name_to_unpruned_hash_sizes;
  bool enable_pruning = true;  // false: ids stay as they are
  int64_t pruning_interval = 1001;
};

class GenericITEPModule {
 public:
  // Throws Error for a name that is no table's, fewer ids than rows (as many: not pruned), an
  // interval below 1, and a feature of a pruned table that another table reads too.
  GenericITEPModule(Context& ctx, std::vector<BaseEmbeddingConfig> configs, ItepOptions options);

  // Returns the KJT with rows in place of ids of pruned tables, -1 for an id that is out of range.
  // iter: number of training forwards before this one. Waits for a device where it prunes or
  // counts. Throws Error, and changes nothing, for a missing feature.
  KeyedJaggedTensor Forward(Context& ctx, const KeyedJaggedTensor& features, int64_t iter,
                            bool training);
  // Returns, for each table in order, the rows that went to other ids since the last call, [k] i64,
  // ascending. Until they are reset they hold what the former ids learned.
  std::vector<Tensor> TakeHandedOn(Context& ctx);
  // From now on counts all_ids(ids) in place of a feature's ids: sharding gathers the ids of all
  // ranks there.
  void CountAll(std::function<Tensor(Context&, const Tensor&)> all_ids) {
    all_ids_ = std::move(all_ids);
  }
  // Throws Error, naming feature and table, for an id that is out of range, if the table's
  // bounds_check, or `mode` where its config has none, is FATAL. Waits for a device.
  void CheckIdsSync(Context& ctx, const KeyedJaggedTensor& features, BoundsCheckMode mode) const;

  const std::vector<BaseEmbeddingConfig>& configs() const { return configs_; }

  // prefix + "<table>_itp_address_lookup" (i64 [U]) and prefix + "<table>_itp_row_util" (f32 [U])
  // of pruned tables. It does not keep the rows that TakeHandedOn would return: call that first.
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const;
  // Throws Error, and changes nothing, for other names, shapes or types, and rows with two owners.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "");

 private:
  struct Pruned {
    size_t table;  // in configs_
    internal::ItepTable rows;
    std::vector<int64_t> handed_on;
  };
  void AddTable(Context& ctx, const std::string& name, int64_t ids);
  void CheckReadOnce(const Pruned& pruned) const;
  const BaseEmbeddingConfig& ConfigOf(const Pruned& pruned) const { return configs_[pruned.table]; }
  void Count(Context& ctx, const KeyedJaggedTensor& features);
  KeyedJaggedTensor Remap(Context& ctx, const KeyedJaggedTensor& features) const;

  std::vector<BaseEmbeddingConfig> configs_;
  ItepOptions options_;
  std::vector<Pruned> pruned_;
  std::function<Tensor(Context&, const Tensor&)> all_ids_;  // may be empty
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_ITEP_ITEP_MODULE_H_
