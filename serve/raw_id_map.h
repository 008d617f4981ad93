#ifndef TESSERA_SERVE_RAW_ID_MAP_H_
#define TESSERA_SERVE_RAW_ID_MAP_H_
// Maps any 64-bit ids to the rows of a table, in slots that a file holds and a delta may change.
//
//   slots [n][2], i64   (id, row); row −1: nobody's
//
// An id's first slot is ⌊MixBits(id) · n / 2^64⌋; then the next ones in turn, round the end, up to
// one that is nobody's. A slot that is freed is filled by what comes behind it, so that none is
// ever lost. Files have two slots an id; where deltas bring more than 3 for 4 slots, they are moved
// to twice as many, in memory.
#include <string>
#include <vector>

#include "embedding/lookup/index_remap.h"
#include "runtime/tensor.h"

namespace tessera::serve {

// A view that reads the slots; it is valid while they don't change.
struct RawIdView {
  const int64_t* slots = nullptr;
  uint64_t size = 0;

  uint64_t FirstSlot(int64_t id) const {
    const uint64_t hash = MixBits(static_cast<uint64_t>(id));
    return static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * size >> 64);
  }
  void Prefetch(int64_t id) const { __builtin_prefetch(slots + 2 * FirstSlot(id)); }
  // −1 for an id that is not there. Ends, with any row, whatever the slots hold: those of a file
  // that was cut while it is mapped have become zeros.
  int64_t RowOf(int64_t id) const {
    uint64_t slot = FirstSlot(id);
    for (uint64_t left = size; left > 0; --left, slot = slot + 1 < size ? slot + 1 : 0)
      if (slots[2 * slot] == id || slots[2 * slot + 1] < 0) return slots[2 * slot + 1];
    return -1;
  }
  // That of an id, or the first of nobody's that it would take. Ends likewise.
  uint64_t SlotOf(int64_t id) const;
};

class RawIdMap {
 public:
  // Room for as many ids as a file of `ids` has.
  explicit RawIdMap(int64_t ids = 0);
  // Slots of a file, which this may write from then on. Throws Error, beginning with `where`, for
  // rows that are not in [−1, rows), and where no slot is nobody's.
  RawIdMap(const Tensor& slots, int64_t rows, const std::string& where);

  // Slots of a file of so many ids.
  static int64_t SlotsFor(int64_t ids);
  static int64_t BytesFor(int64_t ids) { return SlotsFor(ids) * kSlotBytes; }

  int64_t size() const { return used_; }
  const Tensor& slots() const { return slots_; }
  RawIdView view() const { return {slots_.data<int64_t>(), static_cast<uint64_t>(slots_.dim(0))}; }
  // Every id with its row, ascending.
  std::vector<RemapEntry> Entries() const;

  // The id's row from now on. REQUIRES: row ≥ 0.
  void Set(int64_t id, int64_t row);
  // Does nothing for an id that is not in the map.
  void Remove(int64_t id);

 private:
  void Grow();

  static constexpr int64_t kSlotBytes = 2 * sizeof(int64_t);

  Tensor slots_;
  int64_t used_ = 0;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_RAW_ID_MAP_H_
