#ifndef TESSERA_EMBEDDING_TABLE_TOUCHED_ROWS_H_
#define TESSERA_EMBEDDING_TABLE_TOUCHED_ROWS_H_
// Which rows of one table changed since when, for any number of readers: a mark of 32 bits a row.
//
//   time()     the time under way: 1, 2, …; a reader that has read ends it
//   mark[row]  the time in which the row was last touched; 0: never
//
// A row was touched since a reader's last reading, at the end of time t, where its mark is above t.
// Touching all rows is one number, not a pass. Memory is 4 bytes a row, whatever the readers do.
// Calls run in the order of ctx's stream, on one host thread at a time.
#include <cstdint>

#include "embedding/lookup/lookup.h"
#include "embedding/update/update.h"
#include "runtime/tensor.h"

namespace tessera {

class TouchedRows {
 public:
  // No row is touched.
  TouchedRows(Context& ctx, int64_t rows);

  // The rows that an update of `table` changes: those that its features name. Nothing waits.
  void TouchUpdated(Context& ctx, const LookupArgs& lookup, const UpdateTable& table);
  // ids [k], i32 or i64; those that name no row are left out.
  void Touch(Context& ctx, const Tensor& ids);
  void TouchAll() { all_ = time_; }
  // The table has so many rows now; new ones count as touched. REQUIRES: not fewer than before.
  void Grow(Context& ctx, int64_t rows);

  int64_t rows() const { return rows_; }
  int32_t time() const { return time_; }
  // Ends the time under way, and says which one it was. Throws Error after 2^31 − 2 of them.
  int32_t EndTime();
  // The rows touched after time `since`, [k] i64, rising. Waits for the device.
  Tensor SinceSync(Context& ctx, int32_t since) const;

  int64_t bytes() const { return marks_.numel() * static_cast<int64_t>(sizeof(int32_t)); }

 private:
  Tensor marks_;  // [at least rows_] i32
  int64_t rows_;
  int32_t time_ = 1, all_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_TOUCHED_ROWS_H_
