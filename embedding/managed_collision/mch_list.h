#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_LIST_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_LIST_H_
// The sorted list of mch_managed_collision_module.h on each device, and how ids compete for its
// places.
//
// Newcomers, from the best down, meet places, from the worst up: newcomer i stays exactly if it is
// better than place i, so that sorts of both and one comparison each say who changes.
#include <cmath>
#include <limits>
#include <vector>

#include "embedding/managed_collision/mch_eviction.h"
#include "runtime/numbers/math.h"
#include "runtime/tensor.h"
#include "sparse/ops/search.h"

namespace tessera::internal {

inline constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();

// Each i64 [places]; counts or last undefined where the policy has none.
struct MchList {
  Tensor ids, rows, counts, last;
};

// Distinct ids of a history, ascending, with what the policy wants to know.
struct MchCandidates {
  Tensor ids, counts, last;  // i64 [U]; last as of the list
  Tensor admitted;           // u8 [U]; undefined: all are
};

// A list's columns for kernels; nullptr where a column is undefined.
struct MchColumns {
  int64_t *ids, *rows, *counts, *last;
  int64_t size;
  explicit MchColumns(const MchList& list)
      : ids(Column(list.ids)),
        rows(Column(list.rows)),
        counts(Column(list.counts)),
        last(Column(list.last)),
        size(list.ids.numel()) {}
  static int64_t* Column(const Tensor& t) { return t.defined() ? t.data<int64_t>() : nullptr; }

  // The id's place, or −1.
  TESSERA_HD int64_t PlaceOf(int64_t id) const {
    if (id == kNobody) return -1;
    const int64_t place = CountBefore(ids, size, id, /*or_equal=*/false);
    return place < size && ids[place] == id ? place : -1;
  }
};

class MchScore {
 public:
  MchScore(MchEviction eviction, double decay, int64_t now)
      : eviction_(eviction),
        decay_(decay),
        whole_decay_(decay == std::floor(decay) ? static_cast<int64_t>(decay) : -1),
        now_(now) {}
  // Score of an id that came `count` times, the last time in forward `last`.
  TESSERA_HD double Of(int64_t count, int64_t last) const {
    if (eviction_ == MchEviction::kLfu) return static_cast<double>(count);
    const auto distance = static_cast<double>(now_ - last + 1);
    if (eviction_ == MchEviction::kLru) return -distance;
    return static_cast<double>(count) / Decayed(distance);
  }
  // Score of number i of columns, either of which may be nullptr where the policy does not read it.
  TESSERA_HD double At(const int64_t* counts, const int64_t* last, int64_t i) const {
    return Of(counts != nullptr ? counts[i] : 0, last != nullptr ? last[i] : 0);
  }
  int64_t now() const { return now_; }

 private:
  // A square root is one exactly, as torch.pow's is: 12 / sqrt(12) and 6 / sqrt(3) are equal.
  TESSERA_HD double Decayed(double distance) const {
    if (whole_decay_ >= 0) return PowInteger(distance, whole_decay_);
    return decay_ == 0.5 ? std::sqrt(distance) : Pow(distance, decay_);
  }

  MchEviction eviction_;
  double decay_;
  int64_t whole_decay_;  // −1: it is none
  int64_t now_;
};

// rows[i]: the row of ids[i], or `missing`.
struct RemapByList {
  MchColumns list;
  const int64_t* ids;
  int64_t missing;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t place = list.PlaceOf(ids[i]);
    rows[i] = place >= 0 ? list.rows[place] : missing;
  }
};
void RemapIds(OnCpu, Context& ctx, int64_t n, const RemapByList& remap);
void RemapIds(OnCuda, Context& ctx, int64_t n, const RemapByList& remap);

// [distinct] i64: the largest of times[i] over all i of inverse[i] == u, for every u. Times ascend
// and are not negative.
Tensor LatestOf(OnCpu, Context& ctx, const Tensor& inverse, const Tensor& times, int64_t distinct);
Tensor LatestOf(OnCuda, Context& ctx, const Tensor& inverse, const Tensor& times, int64_t distinct);

// Renews what is remembered of admitted candidates in the list; of the others and the list the best
// stay. The rows that went from one id to another, in any order. Waits for a device.
std::vector<int64_t> UpdateListSync(OnCpu, Context& ctx, MchList* list,
                                    const MchCandidates& candidates, const MchScore& score);
std::vector<int64_t> UpdateListSync(OnCuda, Context& ctx, MchList* list,
                                    const MchCandidates& candidates, const MchScore& score);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_LIST_H_
