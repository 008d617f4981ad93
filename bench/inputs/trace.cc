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

std::vector<int64_t> ReadNumberLines(const std::string& path, const std::string& what) {
  LineReader reader({path});
  std::vector<int64_t> numbers;
  for (std::string_view line; reader.Next(line);) {
    int64_t number = -1;
    const char* const end = line.data() + line.size();
    const auto [read, error] = std::from_chars(line.data(), end, number);
    TESSERA_CHECK(error == std::errc() && read == end && number >= 0,
                  "{}: expected one {}, an integer from 0, got \"{}\"", reader.where(), what, line);
    numbers.push_back(number);
  }
  TESSERA_CHECK(!numbers.empty(), "{}: expected one {} a line, got an empty file", path, what);
  return numbers;
}

Trace ReadTrace(const std::string& path) {
  Trace trace{.ids = ReadNumberLines(path, "id"), .renamed = {}};
  trace.renamed = RenamedDensely(trace.ids);
  trace.rows = *std::max_element(trace.ids.begin(), trace.ids.end()) + 1;
  return trace;
}

}  // namespace tessera::bench
