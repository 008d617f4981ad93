#ifndef TESSERA_BENCH_TRAIN_CRITEO_TEXT_H_
#define TESSERA_BENCH_TRAIN_CRITEO_TEXT_H_
// A file of Criteo rows, and what else is made of it: a given one, or one of a click model's rows
// that goes when this does.
#include <cstdint>
#include <string>

#include "bench/harness/scratch_folder.h"

namespace tessera::bench {

class CriteoText {
 public:
  static constexpr char kMade[] = "made";

  // data: kMade for `rows` rows of which categories have up to `vocabulary` values; else a file's
  // name, of which all rows are taken. Throws Error where it cannot be read.
  CriteoText(const std::string& data, int64_t rows, int64_t vocabulary);

  const std::string& path() const { return path_; }
  int64_t bytes() const;
  int64_t rows() const { return rows_; }
  // For files made of it.
  std::string PathFor(const std::string& name) const;

 private:
  ScratchFolder scratch_;
  std::string path_;
  int64_t rows_;
};

// Bytes of a file, or of all files of a folder.
int64_t BytesAt(const std::string& path);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_TRAIN_CRITEO_TEXT_H_
