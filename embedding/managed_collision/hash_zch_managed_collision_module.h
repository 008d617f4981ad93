#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_HASH_ZCH_MANAGED_COLLISION_MODULE_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_HASH_ZCH_MANAGED_COLLISION_MODULE_H_
// Gives raw ids rows by an open-addressing hash table whose slots are the rows: TorchRec's class of
// this name (multi-probe ZCH, FBGEMM's zero_collision_hash).
//
//   identities  [zch_size]   the raw id that owns the slot, or −1
//   metadata    [zch_size]   the time until which the owner keeps it
//
// An id is looked for in max_probe slots, the hash's and the next ones in turn, round the end of
// the bucket (zch_probe.h). A training forward first renews all ids that have a slot (metadata =
// the later of it and now + ttl). The others then come in order: an id
//
//   with opt_in_prob p < 100   goes on with the chance p / 100, else it reads a reserved slot
//   TTL policies               takes the first slot that is empty or whose time has come
//   LRU                        the first empty slot, else, of those whose time has come, the one
//                              whose time was earliest (the first of equals)
//   no policy                  the first empty slot
//
// A time has come when it is before now. Ids without a slot read a reserved slot (hash mod the
// bucket's number of them) with opt-in; else no row (−1) with disable_fallback; else the slot that
// the hash names, whosever it is. The id −1 never owns a slot.
//
// On a GPU a training forward waits only with a policy, and only if neither Evict nor StartRows has
// taken the rows of the last four; Evict and state dicts wait for it.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "embedding/managed_collision/managed_collision_module.h"
#include "embedding/managed_collision/zch_forward.h"
#include "runtime/tensor.h"

namespace tessera {

enum class HashZchEviction { kNone, kSingleTtl, kPerFeatureTtl, kLru };
// "NONE", "SINGLE_TTL_EVICTION", …
std::string ToString(HashZchEviction eviction);

// Unit of time: hours since 1970, as in TorchRec, or training forwards, which make a run
// repeatable.
enum class HashZchClock { kHours, kForwards };

struct HashZchOptions {
  int64_t zch_size = 0;
  int64_t total_num_buckets = 1;  // divides zch_size
  int64_t max_probe = 128;
  int64_t input_hash_size = 0;  // 0: ids are any number
  HashZchEviction eviction = HashZchEviction::kNone;
  int64_t single_ttl = 0;                     // kSingleTtl: above 0; kLru: at least 0
  std::vector<int64_t> per_feature_ttl = {};  // one a feature, in the order of Forward's
  HashZchClock clock = HashZchClock::kHours;
  int opt_in_prob = -1;               // in percent; −1: all ids may have slots
  double percent_reserved_slots = 0;  // of each bucket; above 0 with opt_in_prob
  bool disable_fallback = false;
  std::string name = {};  // for errors
};

// Throws Error for options that make no sense, and for opt-in with LRU, as TorchRec does.
void CheckHashZchOptions(const HashZchOptions& options);

class HashZchManagedCollisionModule final : public ManagedCollisionModule {
 public:
  // Throws Error as CheckHashZchOptions.
  HashZchManagedCollisionModule(Context& ctx, HashZchOptions options);

  int64_t output_size() const override { return options_.zch_size; }
  int64_t input_size() const override { return options_.input_hash_size; }
  int64_t NumIdsSync(Context& ctx) const override;
  int64_t num_evicted() const override;
  bool StartRows(const std::function<bool(const RowsToStart& rows)>& start) override;

  // [zch_size, 1], i64; shared.
  const Tensor& identities() const { return identities_; }
  // [zch_size, 1], i32; undefined without a policy.
  const Tensor& metadata() const { return metadata_; }
  int64_t reserved_slots_per_bucket() const { return reserved_; }

  //   _hash_zch_identities   i64 [zch_size, 1]
  //   _hash_zch_metadata     i32 [zch_size, 1], with a policy
  // Not in TorchRec:
  //   _current_iter_tensor   i32 [1], training forwards
  //   _evicted_indices       i64 [k], not yet asked for
  // LoadStateDict refuses metadata that the other clock told.
  std::vector<NamedTensor> StateDict(Context& ctx) const override;
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) override;

 private:
  std::vector<Tensor> Map(Context& ctx, std::span<const Tensor> ids, bool training) override;
  void Train(Context& ctx, const internal::ZchTable& table,
             std::span<const internal::ZchFeature> features);
  std::vector<int64_t> ChangedSync(const Tensor& changed) const override;
  internal::ZchTable Table() const;
  int64_t Now() const;
  int64_t TtlOf(size_t feature) const;
  bool has_policy() const { return options_.eviction != HashZchEviction::kNone; }

  HashZchOptions options_;
  int64_t reserved_ = 0;
  Tensor identities_, metadata_;
  Tensor claims_, changes_;  // on a GPU (ZchOnDevice)
  int64_t forwards_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_HASH_ZCH_MANAGED_COLLISION_MODULE_H_
