#include "bench/train/criteo_text.h"

#include <filesystem>
#include <limits>

#include "data/files/line_reader.h"
#include "data/synthetic/criteo_file_writer.h"
#include "runtime/files/files.h"

namespace tessera::bench {

namespace fs = std::filesystem;

CriteoText::CriteoText(const std::string& data, int64_t rows, int64_t vocabulary)
    : scratch_(""), path_(data == kMade ? PathFor("clicks.tsv") : data), rows_(rows) {
  if (data == kMade)
    WriteCriteoFile(path_, ClickModel({.vocabulary = vocabulary}), {0, rows});
  else
    rows_ = LineReader({path_}).Skip(std::numeric_limits<int64_t>::max());
}

int64_t CriteoText::bytes() const { return BytesAt(path_); }

std::string CriteoText::PathFor(const std::string& name) const {
  return PathIn(scratch_.path(), name);
}

int64_t BytesAt(const std::string& path) {
  if (!fs::is_directory(path)) return static_cast<int64_t>(fs::file_size(path));
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path))
    bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

}  // namespace tessera::bench
