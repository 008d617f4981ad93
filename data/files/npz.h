#ifndef TESSERA_DATA_FILES_NPZ_H_
#define TESSERA_DATA_FILES_NPZ_H_
// Files of numpy.savez: a ZIP archive of npy files that are stored, not compressed, so that their
// elements can be used where the file is mapped. They begin at any address: an i32 may lie at an
// odd one. Archives of more than 4 GiB (ZIP64) are read, too.
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/mapped_file.h"
#include "runtime/tensor.h"

namespace tessera {

class NpzFile {
 public:
  static constexpr uint64_t kMostChecked = uint64_t{1} << 30;

  // Maps a file and reads its directory. Throws Error, naming the file, for one that is no ZIP
  // archive.
  explicit NpzFile(const std::string& path);

  // Names of the arrays, without ".npy", in the order of the archive.
  std::vector<std::string> names() const;
  // An array's elements, borrowed from the mapping. Throws Error, naming the file and the array,
  // for one that is compressed, no npy file, or not there, and for one of up to kMostChecked bytes
  // that does not have its CRC-32. Reading a larger one as a whole would take too long.
  Tensor Array(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    uint64_t local_header = 0, bytes = 0;
    uint32_t crc = 0;
    bool stored = true;
  };
  std::string_view Text() const { return {file_.data(), static_cast<size_t>(file_.bytes())}; }
  void ReadDirectory();
  std::string_view BytesOf(const Entry& entry) const;

  MappedFile file_;
  std::vector<Entry> entries_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_NPZ_H_
