#ifndef TESSERA_EMBEDDING_TABLE_OCCURRENCES_H_
#define TESSERA_EMBEDDING_TABLE_OCCURRENCES_H_
// Private to embedding/update*: the occurrences of one table's rows in a batch, sorted, and where
// their gradients lie.
#include <vector>

#include "embedding/row_update.h"
#include "embedding/update.h"

namespace tessera::internal {

class TableOccurrences {
 public:
  // Collects and sorts. Ids that name no row are left out.
  TableOccurrences(Context& ctx, const LookupArgs& lookup, const UpdateTable& table);

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
  void Collect(Context& ctx, const LookupArgs& lookup, const UpdateTable& table);
  template <typename Fn>
  decltype(auto) Visit(Fn&& fn) const;

  int64_t size_ = 0;
  bool wide_ = false;
  Tensor buffers_[2];
  void* sorted_ = nullptr;
  const float* grad_ = nullptr;
  Tensor slot_offsets_, slot_scales_, slots_, sample_weights_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_OCCURRENCES_H_
