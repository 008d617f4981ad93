#include "bench/eviction/id_source.h"

#include <algorithm>

#include "bench/inputs/id_file.h"
#include "bench/inputs/id_stream.h"
#include "bench/inputs/trace.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace tessera::bench {
namespace {

int64_t IdOf(int64_t id) {
  return static_cast<int64_t>(internal::HashOf({reinterpret_cast<const char*>(&id), sizeof(id)}));
}

// The ids of all tables, one table after another, as hashes.
std::vector<int64_t> HashedIds(const IdFile& file) {
  std::vector<int64_t> ids;
  for (const IdTable& table : file.tables)
    for (const int64_t id : table.ids) ids.push_back(file.hashed ? id : IdOf(id));
  return ids;
}

std::vector<int64_t> DrawIds(const Skew& skew, int64_t count, int64_t rows) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  IdStream(skew, rows, 5, 0).Draw(ids);
  for (int64_t& id : ids) id = IdOf(id);
  return ids;
}

}  // namespace

RawIdTrace ReadIdSource(const std::string& text, int64_t count, int64_t rows) {
  RawIdTrace trace;
  trace.raw =
      NamesIdFile(text) ? HashedIds(ReadIdFile(text)) : DrawIds(ParseSkew(text), count, rows);
  trace.dense = RenamedDensely(trace.raw);
  trace.distinct = *std::max_element(trace.dense.begin(), trace.dense.end()) + 1;
  return trace;
}

void CheckIdSource(const std::string& text) {
  if (NamesIdFile(text)) return CheckIdFile(text);
  const std::string kind = text.substr(0, text.find(':'));
  if (kind != "uniform" && kind != "zipf" && kind != "distances")
    throw Error(Format("expected {} | {}, got '{}'", kIdFileHelp, kDrawnIdsHelp, text));
  ParseSkew(text);
}

}  // namespace tessera::bench
