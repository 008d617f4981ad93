#ifndef TESSERA_EMBEDDING_LOOKUP_INDEX_REMAP_H_
#define TESSERA_EMBEDDING_LOOKUP_INDEX_REMAP_H_
// Maps ids of the data to the rows that a pruned table kept. An id without a row becomes −1: a
// lookup adds nothing for it, though it counts in the L of MEAN.
//
//   kArray  map[original_rows]: row of id i, or −1. i32, or i64 where the table has 2^31 rows.
//   kHash   slots[capacity][2] of (id, row); an empty slot has id −1. capacity: twice the entries,
//           rounded up to a multiple of 32. An id's first slot is Murmur3's finaliser of it, modulo
//           capacity; then the next ones in turn, up to an empty one. i32 where original_rows and
//           the rows are below 2^31, else i64.
//
// As FBGEMM's pruned_array_lookup and pruned_hashmap_lookup. Immutable; made on the host (the same
// slots for the same entries, every time), kept on a device.
#include <memory>
#include <span>
#include <vector>

#include "embedding/lookup/row_ops.h"
#include "runtime/tensor.h"

namespace tessera {

enum class RemapKind { kArray, kHash };

struct RemapEntry {
  int64_t id, row;
};

// A kernel's view of a map.
struct RemapView {
  RemapKind kind;
  IndexArray data;
  int64_t size;  // ids of an array, slots of a hash

  // The row of `id`, or −1, whatever the id.
  TESSERA_HD int64_t RowOf(int64_t id) const;
};

class IndexRemap {
 public:
  // Ids in [0, original_rows) that are not listed are pruned. `rows`: rows of the table they are
  // to name. On ctx's device. Throws Error for an id listed twice, ids or rows out of range.
  IndexRemap(Context& ctx, RemapKind kind, std::span<const RemapEntry> entries,
             int64_t original_rows, int64_t rows);
  // map: [original_rows], i32 or i64, from any device (then waits for it): row of each id, or −1.
  // Throws Error for a row that is neither −1 nor in [0, rows).
  static IndexRemap FromMap(Context& ctx, RemapKind kind, const Tensor& map, int64_t rows);

  // Returns a copy on ctx's device.
  IndexRemap To(Context& ctx) const {
    return IndexRemap(kind_, data_.To(ctx, ctx.device()), original_rows_, rows_);
  }

  RemapKind kind() const { return kind_; }
  // How many ids the data may name: what the bounds check goes by.
  int64_t original_rows() const { return original_rows_; }
  int64_t rows() const { return rows_; }
  // The map or the slots, as above.
  const Tensor& data() const { return data_; }
  // The map as kernels read it; valid while this is.
  RemapView view() const;

 private:
  IndexRemap(RemapKind kind, Tensor data, int64_t original_rows, int64_t rows)
      : kind_(kind), data_(std::move(data)), original_rows_(original_rows), rows_(rows) {}

  RemapKind kind_;
  Tensor data_;
  int64_t original_rows_, rows_;
};

// Ids [begin, end) of `ids`, which one feature reads; `remap` may be null.
struct RemappedIds {
  Tensor ids;
  int64_t begin, end;
  const IndexRemap* remap;
};

// For each feature a tensor like its `ids`, in which its own range is remapped and the rest is not
// to be read; `ids` itself without a remap. Features that overlap get tensors of their own, others
// share one. Ids and results are i32 or i64. On a GPU one launch for all features; never waits.
std::vector<Tensor> RemapIds(Context& ctx, std::span<const RemappedIds> features);

// ---- the hash, by host and device

// Returns the slot where an id ≥ 0 is looked for first. wide: slots are i64; else capacity < 2^32.
TESSERA_HD int64_t FirstSlot(int64_t id, int64_t capacity, bool wide) {
  if (wide)
    return static_cast<int64_t>(MixBits(static_cast<uint64_t>(id)) %
                                static_cast<uint64_t>(capacity));
  return MixBits(static_cast<uint32_t>(id)) % static_cast<uint32_t>(capacity);
}

TESSERA_HD int64_t RemapView::RowOf(int64_t id) const {
  if (kind == RemapKind::kArray) return IsRow(id, size) ? data[id] : -1;
  if (id < 0) return -1;
  // Half of the slots are empty, so one is met, unless they lie in a mapped file that was cut.
  int64_t slot = FirstSlot(id, size, data.wide);
  for (int64_t left = size; left > 0; --left, slot = slot + 1 < size ? slot + 1 : 0) {
    const int64_t key = data[2 * slot];
    if (key == id) return data[2 * slot + 1];
    if (key == -1) return -1;
  }
  return -1;
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_INDEX_REMAP_H_
