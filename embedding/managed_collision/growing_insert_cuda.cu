// An insertion into a growing index on a GPU: ids that have rows are noted, the others claim slots
// of a table of the call; who came first gets a row first.
#include <algorithm>

#include "embedding/lookup/counted_items.cuh"
#include "embedding/lookup/index_array.h"
#include "embedding/managed_collision/growing_admission_cuda.cuh"
#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// Finds or claims.
struct Touch {
  RowColumns columns;
  IdClaims claims;
  int64_t now;
  int64_t* rows;
  uint8_t* missing;  // null: ids without a row claim one now
  __device__ void operator()(int64_t i) const {
    const int64_t row = columns.Find(claims.ids[i]);
    rows[i] = row;
    if (missing != nullptr) missing[i] = row < 0;
    if (row < 0 && missing == nullptr) return claims.Claim(i);
    claims.Pass(i);
    if (row < 0) return;
    columns.last[row] = now;
    atomicAdd(reinterpret_cast<Count*>(columns.counts + row), Count{1});
  }
};

// Rows for new ids: those that are free, then those that nobody had, then what was evicted.
struct Supply {
  const GrowingNumbers* numbers;
  const int64_t* free;
  const EvictionPlace* evicted;  // null: nothing is
  const int64_t* freed;
  int64_t max_rows;
  TESSERA_HD int64_t Fresh() const { return max_rows - numbers->num_rows; }
  TESSERA_HD int64_t Evicted() const { return evicted != nullptr ? evicted->freed : 0; }
  // The row of the u-th new id, or −1.
  TESSERA_HD int64_t Row(int64_t u) const {
    if (u < numbers->num_free) return free[numbers->num_free - 1 - u];
    u -= numbers->num_free;
    if (u < Fresh()) return numbers->num_rows + u;
    u -= Fresh();
    return u < Evicted() ? freed[u] : -1;
  }
};

struct GiveRow {
  RowColumns columns;
  IndexArray ids;
  Supply supply;
  const int32_t* firsts;
  int64_t now;
  int64_t *rows, *given;
  __device__ void operator()(int64_t u) const {
    const int64_t row = supply.Row(u);
    if (row < 0) return;
    const int64_t first = firsts[u];
    given[u] = rows[first] = row;
    columns.ids[row] = ids[first];
    columns.last[row] = now;
    columns.counts[row] = 0;  // ReadRow counts
    columns.Enter(static_cast<uint32_t>(row));
  }
};

// Reads the row that the id's first occurrence got.
struct ReadRow {
  RowColumns columns;
  IdClaims claims;
  int64_t* rows;
  __device__ void operator()(int64_t i) const {
    if (!claims.Claims(i)) return;
    const int64_t first = claims.First(i), row = rows[first];
    if (row < 0) return;
    if (i != first) rows[i] = row;
    atomicAdd(reinterpret_cast<Count*>(columns.counts + row), Count{1});
  }
};

// Passes what was given, and says it.
struct PassGiven {
  Supply supply;
  const int32_t* wanted;
  const int64_t* entered_anew;  // null where nothing is evicted
  GrowingNumbers* numbers;
  int64_t* free;
  GrowingGiven* given;
  TESSERA_HD static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
  TESSERA_HD void operator()(int64_t) const {
    GrowingNumbers n = *numbers;
    const int64_t evicted = supply.Evicted(), of_free = Least(*wanted, n.num_free),
                  added = Least(*wanted - of_free, supply.Fresh()),
                  of_evicted = Least(*wanted - of_free - added, evicted);
    *given = {n.num_rows, n.num_rows + added, of_free + added + of_evicted, *wanted};
    n.num_rows += added;
    n.num_free -= of_free;
    n.reused += of_free + of_evicted;
    for (int64_t k = evicted; k-- > of_evicted;) free[n.num_free++] = supply.freed[k];
    if (supply.evicted != nullptr) {
      n.hand = supply.evicted->hand;
      n.looked_at = supply.evicted->looked_at;
      n.erased = *entered_anew > 0 ? 0 : n.erased + evicted;
    }
    *numbers = n;
  }
};

// One call on the device: its ids, and what they get.
class Insertion {
 public:
  // ids: [N], N at least 1.
  Insertion(Context& ctx, GrowingRows* rows, const Tensor& ids, const GrowingCall& call)
      : rows_(rows),
        ids_(ids),
        call_(call),
        most_(std::min(ids.numel(), call.max_rows)),
        firsts_(ctx, ArrayOf(ids), ids.numel()) {
    ReadyRows(ctx, rows, std::min(rows->most_rows + ids.numel(), call.max_rows), call.max_rows);
    out_.rows = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
    out_.given = Tensor::Empty(ctx, {kGivenNumbers + most_}, DType::kI64);
  }

  // Notes ids that have rows. The others claim some, or are flagged in `missing`.
  void Find(Context& ctx, uint8_t* missing) {
    ForEach(
        ctx, ids_.numel(),
        Touch{RowColumns(*rows_), firsts_.claims(), call_.now, out_.rows.data<int64_t>(), missing});
  }
  IdClaims claims() const { return firsts_.claims(); }
  // Gives rows to all that claim.
  void Give(Context& ctx) {
    firsts_.List(ctx);
    const int64_t n = ids_.numel(), max_rows = call_.max_rows;
    Evictions evictions;
    if (rows_->most_rows + n > max_rows) evictions = Evict(ctx, rows_, call_, firsts_.count(), n);
    auto* numbers = reinterpret_cast<GrowingNumbers*>(rows_->numbers.data<int64_t>());
    auto* free = rows_->free.data<int64_t>();
    const Supply supply = {numbers, free, evictions.end, evictions.freed, max_rows};
    const RowColumns columns(*rows_);
    auto* row = out_.rows.data<int64_t>();
    auto* given = out_.given.data<int64_t>();
    ForEachCounted(ctx, firsts_.count(), n, 1,
                   GiveRow{columns, ArrayOf(ids_), supply, firsts_.firsts(), call_.now, row,
                           given + kGivenNumbers});
    ForEach(ctx, n, ReadRow{columns, firsts_.claims(), row});
    ForEach(ctx, 1,
            PassGiven{supply, firsts_.count(), evictions.entered_anew, numbers, free,
                      reinterpret_cast<GrowingGiven*>(given)});
    rows_->most_rows = std::min(rows_->most_rows + n, max_rows);
    rows_->changed = true;
  }
  const GrowingInserted& out() const { return out_; }

 private:
  GrowingRows* rows_;
  Tensor ids_;
  const GrowingCall& call_;
  int64_t most_;
  FirstOccurrences firsts_;
  GrowingInserted out_;
};

// The sketch is first asked as if there were rows for all ids.
void AdmitAndGive(Context& ctx, Insertion* insertion, GrowingRows* rows, const Tensor& ids,
                  const GrowingCall& call) {
  const Tensor missing = Tensor::Empty(ctx, {ids.numel()}, DType::kU8);
  insertion->Find(ctx, missing.data<uint8_t>());
  const Admission admission(ctx, rows, ids, missing, call.admit_after);
  const IdClaims claims = insertion->claims();
  // With fewer ids than that, a call can always free enough rows.
  const bool all_get_rows = 2 * ids.numel() < call.max_rows;
  admission.Claim(ctx, claims, all_get_rows);
  insertion->Give(ctx);
  if (!all_get_rows) admission.CountAgain(ctx, claims, insertion->out().rows);
  admission.Fade(ctx);
}

}  // namespace

GrowingInserted InsertGrowing(OnCuda, Context& ctx, GrowingRows* rows, const Tensor& ids,
                              const GrowingCall& call) {
  TESSERA_CHECK(ids.numel() < int64_t{1} << 31,
                "growing index: {} ids: a device numbers them with 31 bits", ids.numel());
  Insertion insertion(ctx, rows, ids, call);
  if (call.admit_after > 1) {
    AdmitAndGive(ctx, &insertion, rows, ids, call);
  } else {
    insertion.Find(ctx, nullptr);
    insertion.Give(ctx);
  }
  return insertion.out();
}

}  // namespace tessera::internal
