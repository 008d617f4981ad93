#ifndef TESSERA_SHARDING_MANAGED_COLLISION_PARTITIONED_MANAGED_COLLISION_MODULE_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_PARTITIONED_MANAGED_COLLISION_MODULE_H_
// The module of a table that is in parts by hash (sharding/plan/hash_parts.h), or of consecutive
// ones of them: a module of its own for each part, over the part's ids and rows.
//
//   ids   9 4 7 2      parts 1 0 1 0      part 0 gets 4 2, part 1 gets 9 7
//   rows  n+0 0 n+1 1                     part 0 says 0 1, part 1 says   0 1
//
// Every part is called in every forward, with ids in their order, or with none. Nothing of it
// depends on the other parts: its random numbers are its own, too. So the parts of a table do the
// same together in one module and apart on several ranks.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedding/managed_collision/managed_collision_module.h"
#include "runtime/numbers/random.h"
#include "runtime/tensor.h"
#include "sharding/plan/hash_parts.h"

namespace tessera {

// Makes the module of part `part`, with the output_size `rows`.
using MakePartModule = std::function<std::shared_ptr<ManagedCollisionModule>(
    Context& ctx, int64_t part, int64_t rows)>;

class PartitionedManagedCollisionModule final : public ManagedCollisionModule {
 public:
  // Parts [begin, end) of `parts`: row 0 is the first of part `begin`. The random numbers of all
  // parts follow from `seed`. Throws Error for a part with another output_size than it has rows.
  PartitionedManagedCollisionModule(Context& ctx, const HashParts& parts, int64_t begin,
                                    int64_t end, const MakePartModule& make, uint64_t seed);

  int64_t output_size() const override { return num_parts() * parts_.rows_a_part; }
  int64_t input_size() const override { return modules_.front()->input_size(); }
  int64_t NumIdsSync(Context& ctx) const override;

  const HashParts& parts() const { return parts_; }
  int64_t num_parts() const { return static_cast<int64_t>(modules_.size()); }
  int64_t first_part() const { return begin_; }

  // State of each part, as "_parts.<part>.<name>": its module's state, and its random numbers as
  // _part_random i64 [2], seed and next sequence.
  std::vector<NamedTensor> StateDict(Context& ctx) const override;
  // Loads tensors of StateDict. A part that refuses its own leaves those of later parts unread.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) override;

  // A part's rows at a time, with its random numbers as ctx.random().
  void EvictTo(Context& ctx, const std::function<void(const Tensor& rows)>& fn) override;

 private:
  std::vector<Tensor> Map(Context& ctx, std::span<const Tensor> ids, bool training) override;
  Tensor TakeEvicted(Context& ctx) override;

  std::vector<NamedTensor> PartState(Context& ctx, int64_t part) const;
  void LoadPartState(Context& ctx, int64_t part, const std::vector<NamedTensor>& tensors);

  size_t At(int64_t part) const { return static_cast<size_t>(part - begin_); }
  std::vector<Tensor> MapPart(Context& ctx, size_t p, std::span<const Tensor> ids, bool training);

  HashParts parts_;
  int64_t begin_;
  std::vector<std::shared_ptr<ManagedCollisionModule>> modules_;
  std::vector<Random> random_;  // one a part
};

// Takes a seed for all parts of a table from ctx.random().
uint64_t TakeSeed(Context& ctx);

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_PARTITIONED_MANAGED_COLLISION_MODULE_H_
