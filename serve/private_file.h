#ifndef TESSERA_SERVE_PRIVATE_FILE_H_
#define TESSERA_SERVE_PRIVATE_FILE_H_
// A file of which any number of mappings may be written, each for itself: pages are the file's, and
// shared with all who map it, until one is written; that one is then a copy. The file never
// changes, and may be unlinked meanwhile. Any thread may map.
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/files/mapping_faults.h"

namespace tessera::serve {

class PrivateFile {
 public:
  // Throws Error, naming the file, for one that cannot be read.
  explicit PrivateFile(const std::string& path);

  int64_t bytes() const { return file_->bytes(); }

  // `reserved` bytes that begin with the file's [offset, offset + count); what lies behind those
  // has any content, and costs memory from when it is written. Throws Error where there is no
  // address space for it. REQUIRES: the range is in the file; reserved ≥ count.
  std::shared_ptr<void> Map(int64_t offset, int64_t count, int64_t reserved) const;

 private:
  std::string path_;
  std::shared_ptr<const OpenedFile> file_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_PRIVATE_FILE_H_
