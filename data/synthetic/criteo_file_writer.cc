#include "data/synthetic/criteo_file_writer.h"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "data/files/criteo_line.h"
#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"

namespace tessera {
namespace {

constexpr size_t kBlock = 1 << 18;

[[noreturn]] void ThrowUnwritable(const std::string& path) {
  throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace

void WriteCriteoFile(const std::string& path, const ClickModel& model, const RowRange& rows) {
  TESSERA_CHECK_NE(rows.last, RowRange::kEnd, "end of the rows");
  AtomicFile whole(path);
  const gzFile file = gzdopen(dup(fileno(whole.stream())),
                              path.ends_with(".gz") ? "wb" : "wbT");  // T: plain
  if (file == nullptr) ThrowUnwritable(path);
  std::string text;
  bool good = true;
  const auto flush = [&] {
    const unsigned bytes = static_cast<unsigned>(text.size());
    good = good && (bytes == 0 || gzwrite(file, text.data(), bytes) == static_cast<int>(bytes));
    text.clear();
  };
  for (int64_t n = rows.first; n < rows.last && good; ++n) {
    AppendCriteoLine(model.Row(n), text);
    if (text.size() >= kBlock) flush();
  }
  flush();
  if (gzclose(file) != Z_OK || !good) ThrowUnwritable(path);
  whole.Commit();
}

}  // namespace tessera
