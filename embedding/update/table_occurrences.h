#ifndef TESSERA_EMBEDDING_UPDATE_TABLE_OCCURRENCES_H_
#define TESSERA_EMBEDDING_UPDATE_TABLE_OCCURRENCES_H_
// The occurrences of one table's rows in a batch, sorted, and where their gradients lie.
#include <vector>

#include "embedding/update/row_update.h"
#include "embedding/update/update.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// The ids of a table's features, those that name no row among them.
int64_t CountIds(const LookupArgs& lookup, const UpdateTable& table);

// Memory that one table after another may use.
class OccurrenceBuffers {
 public:
  enum Use { kOccurrences, kScratch, kSlotOffsets, kSlotScales, kSlots, kWeights };
  // Room for n elements of T; what was there is lost.
  template <typename T>
  T* Room(Context& ctx, Use use, int64_t n) {
    return static_cast<T*>(Bytes(ctx, use, n * static_cast<int64_t>(sizeof(T))));
  }

 private:
  void* Bytes(Context& ctx, Use use, int64_t bytes);
  Tensor tensors_[6];
};

class TableOccurrences {
 public:
  // Collects and sorts. Ids that name no row are left out. Lies in `buffers`.
  TableOccurrences(Context& ctx, const LookupArgs& lookup, const UpdateTable& table,
                   OccurrenceBuffers& buffers);

  int64_t size() const { return size_; }
  int64_t row(int64_t i) const;
  // Executor arguments for occurrences [begin, end) but for the table and run_sum.
  RowUpdateArgs Args(int64_t begin, int64_t end) const;
  // The first occurrence at or after i that begins a run.
  int64_t RunStartAt(int64_t i) const;
  // Replaces each row by its rank among the distinct rows, and returns those.
  std::vector<int64_t> CompactRows();

 private:
  template <typename Key>
  void Collect(Context& ctx, const LookupArgs& lookup, const UpdateTable& table,
               OccurrenceBuffers& buffers);
  // Sets where the slots' gradients lie.
  void PlaceSlots(Context& ctx, const LookupArgs& lookup, const UpdateTable& table,
                  OccurrenceBuffers& buffers);
  template <typename Fn>
  decltype(auto) Visit(Fn&& fn) const;

  int64_t size_ = 0;
  bool wide_ = false;
  void* sorted_ = nullptr;
  RowUpdateArgs args_;  // of all occurrences
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_TABLE_OCCURRENCES_H_
