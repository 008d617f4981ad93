#include "data/preprocess/contiguous_ids.h"

#include <optional>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace tessera {
namespace {

constexpr int64_t kInfrequent = 1, kFirstNumber = 2;

uint64_t HashOf(int64_t id) {
  return internal::MixedBits(static_cast<uint64_t>(id) + internal::kGoldenRatio);
}

// How often each id came, and where first. Open addressing, linear probing.
class IdCounts {
 public:
  struct Slot {
    int64_t id = 0, first_row = 0, count = 0;  // count 0: empty
  };

  explicit IdCounts(int64_t memory_bytes)
      : most_slots_(static_cast<size_t>(memory_bytes) / sizeof(Slot)), slots_(kFirstSlots) {}

  // False where there is no memory for another id.
  bool Add(int64_t id, int64_t row) {
    if (10 * (used_ + 1) > 7 * slots_.size() && !Grow()) return false;
    Slot& slot = Find(id);
    if (slot.count++ == 0) {
      slot.id = id;
      slot.first_row = row;
      ++used_;
    }
    return true;
  }
  Slot& Find(int64_t id) {
    size_t at = HashOf(id) & (slots_.size() - 1);
    while (slots_[at].count > 0 && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  static constexpr size_t kFirstSlots = 1 << 10;

  // While it grows, both tables are there.
  bool Grow() {
    if (3 * slots_.size() > most_slots_) return false;
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.count > 0) Find(slot.id) = slot;
    return true;
  }

  size_t most_slots_;
  std::vector<Slot> slots_;  // a power of two
  size_t used_ = 0;
};

// Marks the ids whose hash is `part` of `parts`: 1 for infrequent ones, else 2 + the first row of
// the same id. False where memory does not do.
bool MarkPart(std::span<const int64_t> ids, std::span<int64_t> marks, uint64_t part, uint64_t parts,
              const ContiguousIdsOptions& options, ContiguousIdsReport& report) {
  const auto mine = [&](int64_t id) { return (HashOf(id) >> 32) % parts == part; };
  IdCounts counts(options.memory_bytes);
  for (size_t row = 0; row < ids.size(); ++row)
    if (mine(ids[row]) && !counts.Add(ids[row], static_cast<int64_t>(row))) return false;
  const auto kept = [&](const IdCounts::Slot& s) { return s.count >= options.frequency_threshold; };
  for (const IdCounts::Slot& slot : counts.slots()) {
    report.distinct += slot.count > 0;
    report.kept += slot.count > 0 && kept(slot);
  }
  for (size_t row = 0; row < ids.size(); ++row) {
    if (!mine(ids[row])) continue;
    const IdCounts::Slot& slot = counts.Find(ids[row]);
    marks[row] = kept(slot) ? kFirstNumber + slot.first_row : kInfrequent;
  }
  return true;
}

std::optional<ContiguousIdsReport> MarkAll(std::span<const int64_t> ids, std::span<int64_t> marks,
                                           int64_t parts, const ContiguousIdsOptions& options) {
  ContiguousIdsReport report{.rounds = parts};
  for (int64_t part = 0; part < parts; ++part)
    if (!MarkPart(ids, marks, static_cast<uint64_t>(part), static_cast<uint64_t>(parts), options,
                  report))
      return std::nullopt;
  return report;
}

// An id's first row gets the next number; later ones find it there. Returns a hash of the ids in
// the order of their numbers.
uint64_t NumberMarks(std::span<const int64_t> ids, std::span<int64_t> marks) {
  int64_t next = kFirstNumber;
  uint64_t hash = 0;
  for (size_t row = 0; row < marks.size(); ++row) {
    if (marks[row] == kInfrequent) continue;
    const auto first = static_cast<size_t>(marks[row] - kFirstNumber);
    if (first == row) hash = HashOf(static_cast<int64_t>(hash) ^ ids[row]);
    marks[row] = first == row ? next++ : marks[first];
  }
  return hash;
}

}  // namespace

ContiguousIdsReport MakeContiguous(std::span<const int64_t> ids, std::span<int64_t> out,
                                   const ContiguousIdsOptions& options) {
  TESSERA_CHECK_EQ(out.size(), ids.size(), "numbers of ids");
  constexpr int64_t kLeastMemory = 1 << 20;
  TESSERA_CHECK_GE(options.memory_bytes, kLeastMemory, "bytes of memory to count ids");
  for (int64_t parts = 1;; parts *= 2) {
    auto report = MarkAll(ids, out, parts, options);
    if (!report) continue;
    report->hash = NumberMarks(ids, out);
    return *report;
  }
}

}  // namespace tessera
