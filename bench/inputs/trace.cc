#include "bench/inputs/trace.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include "data/files/line_reader.h"
#include "runtime/base/check.h"

namespace tessera::bench {

std::vector<int64_t> RenamedDensely(std::span<const int64_t> ids) {
  std::unordered_map<int64_t, int64_t> names;
  names.reserve(ids.size());
  std::vector<int64_t> renamed;
  renamed.reserve(ids.size());
  for (const int64_t id : ids)
    renamed.push_back(names.emplace(id, static_cast<int64_t>(names.size())).first->second);
  return renamed;
}

Trace ReadTrace(const std::string& path) {
  LineReader reader({path});
  Trace trace;
  for (std::string_view line; reader.Next(line);) {
    int64_t id = -1;
    const char* const end = line.data() + line.size();
    const auto [read, error] = std::from_chars(line.data(), end, id);
    TESSERA_CHECK(error == std::errc() && read == end && id >= 0,
                  "{}: expected one id, an integer from 0, got \"{}\"", reader.where(), line);
    trace.ids.push_back(id);
  }
  TESSERA_CHECK(!trace.ids.empty(), "{}: expected one id a line, got an empty file", path);
  trace.renamed = RenamedDensely(trace.ids);
  trace.rows = *std::max_element(trace.ids.begin(), trace.ids.end()) + 1;
  return trace;
}

}  // namespace tessera::bench
