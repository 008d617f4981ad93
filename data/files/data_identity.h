#ifndef TESSERA_DATA_FILES_DATA_IDENTITY_H_
#define TESSERA_DATA_FILES_DATA_IDENTITY_H_
// Which rows a run reads, so that ranks, and a run that goes on, can tell whether they read the
// same: of each path that was given its name without folders, its size, and hashes of its first 4
// KiB and its last 64. As text, which a checkpoint keeps:
//
//   rows FIRST LAST
//   BYTES HEAD TAIL file|files NAME       a path; hashes in hexadecimal
#include <cstdint>
#include <string>
#include <vector>

#include "data/click_row_stream.h"

namespace tessera {

// The identity of a path. A row folder, an npy day and a day of multi-hot rows have one for all
// their files: its head is a hash of them, its tail is 0.
struct PathIdentity {
  std::string name;
  int64_t bytes = 0;
  uint64_t head = 0, tail = 0;
  bool is_file = true;

  // Names may differ.
  bool SameContent(const PathIdentity& other) const {
    return bytes == other.bytes && head == other.head && tail == other.tail;
  }
};
// "day_0.tsv (12345 bytes, 0f3a91c2)".
std::string ToString(const PathIdentity& path);

struct DataIdentity {
  RowRange rows;
  std::vector<PathIdentity> paths;  // none: rows are made up
};

// Throws Error for a path that cannot be read. What is no regular file has its name alone.
DataIdentity IdentityOf(const std::vector<std::string>& paths, const RowRange& rows);

std::string ToText(const DataIdentity& identity);
// Throws Error for a text that is none.
DataIdentity DataIdentityFromText(const std::string& text);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_DATA_IDENTITY_H_
