#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_MANAGED_COLLISION_MODULE_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_MANAGED_COLLISION_MODULE_H_
// Gives raw ids rows by a sorted list of the ids that have one: TorchRec's class of this name.
//
//   place   0  1  2  … zch_size − 1
//   id      3  4  9  … 2^63 − 1        ascending; 2^63 − 1: nobody's
//   row     5  0  2  … zch_size − 1    and what the policy remembers of the id
//
// An id's row is found by binary search; an id that is not there has the last row, zch_size − 1,
// which is never given away (or, with mch_size, row zch_size + mch_hash_func(id, mch_size)).
//
// Training forwards write their ids into a history. Every eviction_interval of them, distinct ids
// of the history that the filter admits renew what is remembered of those in the list; the others
// compete with the list by score, and the best zch_size − 1 of all stay:
//
//   LFU            count
//   LRU            −(now − last + 1)^decay
//   DISTANCE_LFU   count / (now − last + 1)^decay
//
// now: training forwards so far; last: the forward that named the id last. Of equal scores those in
// the list come first, by id; then new ones, by count (descending), by id. The best new id takes
// the row of the best evicted one, and so on. Scores are doubles (TorchRec's f32 merges some), and
// LRU is ranked by `last` alone, as the power is monotone. The history holds 1.25 ·
// eviction_interval times the ids of the first training forward that has any; what does not fit is
// dropped. The id 2^63 − 1 never has a row of its own.
//
// State follows the contexts that it is used with: the first forward on a GPU moves it there.
// Filters are asked on the host, and hashes applied there, which waits for the GPU.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "embedding/managed_collision/admission_filter.h"
#include "embedding/managed_collision/managed_collision_module.h"
#include "embedding/managed_collision/mch_list.h"
#include "runtime/tensor.h"

namespace tessera {

struct MchEvictionPolicy {
  MchEviction eviction = MchEviction::kDistanceLfu;
  double decay_exponent = 1;    // above 0; not read by LFU
  AdmissionFilter filter = {};  // none: all ids are admitted
};

// Maps an id and a size to a number in [0, size). Several threads may call it.
using IdHash = std::function<int64_t(int64_t id, int64_t size)>;

struct MchOptions {
  int64_t zch_size = 0;  // rows, the miss row among them
  MchEvictionPolicy eviction_policy = {};
  int64_t eviction_interval = 1;
  int64_t input_hash_size = INT64_MAX;
  IdHash input_hash_func = {};  // if given, ids are hashed by it, with input_hash_size, before all
  int64_t mch_size = 0;         // rows behind the list's, for ids that are not in it
  IdHash mch_hash_func = {};    // REQUIRED with mch_size
  std::string name = {};        // for errors
};

class MCHManagedCollisionModule final : public ManagedCollisionModule {
 public:
  // Throws Error for a zch_size, input_hash_size or interval below 1, a negative mch_size, a decay
  // that is not above 0, and an mch_size without its hash.
  explicit MCHManagedCollisionModule(MchOptions options);

  int64_t output_size() const override { return options_.zch_size + options_.mch_size; }
  int64_t input_size() const override { return options_.input_hash_size; }
  int64_t NumIdsSync(Context& ctx) const override;

  // The list, and what is remembered of each place, i64 [zch_size], until the next forward: counts
  // are undefined under LRU, last_access_iter under LFU. On the host before the first forward, then
  // on the device of its context.
  const Tensor& sorted_raw_ids() const { return list_.ids; }
  const Tensor& remapped_ids_mapping() const { return list_.rows; }
  const Tensor& counts() const { return list_.counts; }
  const Tensor& last_access_iter() const { return list_.last; }
  int64_t current_iter() const { return iter_; }

  //   _mch_sorted_raw_ids, _mch_remapped_ids_mapping         i64 [zch_size]
  //   _mch_counts, _mch_last_access_iter                     i64 [zch_size], where policies do
  //   _current_iter_tensor                                   i32 [1]
  // Not in TorchRec, whose history is lost:
  //   _input_history_buffer_size, _last_eviction_iter        i64 [1]
  //   _history_accumulator, _history_last_access_iter        i64 [n]
  //   _evicted_emb_indices                                   i64 [k], not yet asked for
  std::vector<NamedTensor> StateDict(Context& ctx) const override;
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) override;

 private:
  std::vector<Tensor> Map(Context& ctx, std::span<const Tensor> ids, bool training) override;
  void MoveTo(Context& ctx);
  Tensor Hashed(Context& ctx, const Tensor& ids) const;
  void ProfileSync(Context& ctx, std::span<const Tensor> ids);
  void Append(Context& ctx, const Tensor& ids);
  std::vector<int64_t> UpdateListSync(Context& ctx);
  // The filter's answers; undefined without one.
  Tensor Admitted(Context& ctx, const Tensor& counts) const;
  Tensor Remap(Context& ctx, const Tensor& ids) const;
  Tensor WithHashedMisses(Context& ctx, const Tensor& ids, const Tensor& rows) const;

  bool has_counts() const { return options_.eviction_policy.eviction != MchEviction::kLru; }
  bool has_last() const { return options_.eviction_policy.eviction != MchEviction::kLfu; }

  MchOptions options_;
  internal::MchList list_;
  int64_t iter_ = 0, last_eviction_iter_ = 0;
  int64_t history_size_ = 0;  // not yet known
  int64_t history_used_ = 0;
  Tensor history_ids_, history_last_;  // [history_size_]
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_MANAGED_COLLISION_MODULE_H_
