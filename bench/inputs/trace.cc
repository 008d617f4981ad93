#include "bench/inputs/trace.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include "runtime/check.h"
#include "runtime/files.h"

namespace tessera::bench {
namespace {

std::vector<int64_t> RenamedDensely(const std::vector<int64_t>& ids) {
  std::unordered_map<int64_t, int64_t> names;
  names.reserve(ids.size());
  std::vector<int64_t> renamed;
  renamed.reserve(ids.size());
  for (const int64_t id : ids)
    renamed.push_back(names.emplace(id, static_cast<int64_t>(names.size())).first->second);
  return renamed;
}

}  // namespace

Trace ReadTrace(const std::string& path) {
  const std::string text = ReadTextFile(path);
  Trace trace;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const char* stop = std::find(at, end, '\n');
    const char* last = stop > at && stop[-1] == '\r' ? stop - 1 : stop;
    int64_t id = -1;
    const auto [read, error] = std::from_chars(at, last, id);
    TESSERA_CHECK(error == std::errc() && read == last && id >= 0,
                  "{}:{}: expected one id, an integer from 0, got \"{}\"", path,
                  trace.ids.size() + 1, std::string_view(at, static_cast<size_t>(last - at)));
    trace.ids.push_back(id);
    at = stop + 1;
  }
  TESSERA_CHECK(!trace.ids.empty(), "{}: expected one id a line, got an empty file", path);
  trace.renamed = RenamedDensely(trace.ids);
  trace.rows = *std::max_element(trace.ids.begin(), trace.ids.end()) + 1;
  return trace;
}

}  // namespace tessera::bench
