#ifndef TESSERA_EMBEDDING_TABLE_TOUCHED_ROWS_IMPL_H_
#define TESSERA_EMBEDDING_TABLE_TOUCHED_ROWS_IMPL_H_
// The functions of one bag and of one row that both devices run, and the devices' overloads.
// Threads that touch one row write the same mark: `Word` says how a device does that.
#include "embedding/lookup/row_ops.h"
#include "embedding/table/touched_rows.h"
#include "runtime/device/device.h"

namespace tessera::internal {

struct Marks {
  int32_t* marks;
  int64_t rows;
  int32_t time;
};

// Ids of a run of bags, without offsets of one bag an id.
struct TouchedBags {
  IndexArray ids;
  IndexArray offsets;  // no data: bag b is id b
  int64_t first_bag, num_bags;
  int64_t num_ids;         // offsets are cut to these
  int64_t num_slots;       // what ids are below
  const int64_t* row_ids;  // of a cache's slots, −1 for an empty one; null: ids are rows

  TESSERA_HD int64_t At(int64_t bag) const {
    const int64_t offset = offsets.data == nullptr ? bag : offsets[bag];
    return offset < 0 ? 0 : offset > num_ids ? num_ids : offset;
  }
};

template <typename Word>
struct MarkBag {
  TouchedBags bags;
  Marks to;
  TESSERA_HD void operator()(int64_t b) const {
    const int64_t end = bags.At(bags.first_bag + b + 1);
    for (int64_t i = bags.At(bags.first_bag + b); i < end; ++i) {
      const int64_t id = bags.ids[i];
      if (!IsRow(id, bags.num_slots)) continue;
      const int64_t row = bags.row_ids == nullptr ? id : bags.row_ids[id];
      if (!IsRow(row, to.rows)) continue;
      // A hot row's line stays with all threads: most find the mark there.
      if (Word::Load(to.marks + row) != to.time) Word::Store(to.marks + row, to.time);
    }
  }
};

void MarkBags(OnCpu, Context& ctx, const TouchedBags& bags, const Marks& to);
void MarkBags(OnCuda, Context& ctx, const TouchedBags& bags, const Marks& to);

// The rows whose marks are above `since`, [k] i64, rising.
Tensor MarkedSince(OnCpu, Context& ctx, const Tensor& marks, int64_t rows, int32_t since);
Tensor MarkedSince(OnCuda, Context& ctx, const Tensor& marks, int64_t rows, int32_t since);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_TOUCHED_ROWS_IMPL_H_
