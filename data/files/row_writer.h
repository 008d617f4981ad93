#ifndef TESSERA_DATA_FILES_ROW_WRITER_H_
#define TESSERA_DATA_FILES_ROW_WRITER_H_
// Writes rows that are ready for a model, one after the other.
#include <cstdint>
#include <span>

namespace tessera {

struct StoredRow {
  float label = 0;
  std::span<const float> dense;
  std::span<const int64_t> ids;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // Throws Error when it can't be written. REQUIRES: as many numbers and ids each time.
  virtual void Append(const StoredRow& row) = 0;
  // Makes what was written readable; without these calls, in this order, nothing of it is. Of
  // several writers each makes one call before any makes the next. Throw Error when they can't.
  virtual void Prepare() {}   // all of it lasts, and changes nothing that is read
  virtual void Withdraw() {}  // several files that Finish replaces are no longer read
  virtual void Finish() = 0;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_ROW_WRITER_H_
