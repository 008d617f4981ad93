#include "bench/files/measurement_csv.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string Line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + Quoted(field);
  return line + "\r\n";
}

template <typename T>
using Pairs = std::vector<std::pair<std::string, T>>;

// The keys of all rows' pairs, in the order they are met.
template <typename T>
std::vector<std::string> KeysOf(const BenchRun& run, Pairs<T> Measurement::*pairs) {
  std::vector<std::string> keys;
  for (const Measurement& row : run.rows)
    for (const auto& pair : row.*pairs)
      if (std::find(keys.begin(), keys.end(), pair.first) == keys.end()) keys.push_back(pair.first);
  return keys;
}

template <typename T>
const T* FindValue(const Pairs<T>& pairs, const std::string& key) {
  for (const auto& [name, value] : pairs)
    if (name == key) return &value;
  return nullptr;
}

std::string Number(double value) { return Format("{:.9g}", value); }
std::string NumberIf(bool known, double value) { return known ? Number(value) : ""; }

std::vector<std::string> FieldsOf(const Measurement& row) {
  return {row.Name(),
          row.case_name,
          Format("{}", row.threads),
          row.contender,
          row.cold ? "cold" : "warm",
          Format("{}", row.seconds.size()),
          Number(row.Median()),
          Number(row.Quantile(0)),
          Number(row.Quantile(0.1)),
          Number(row.Quantile(0.9)),
          Number(row.Quantile(0.99)),
          Number(row.Spread()),
          NumberIf(row.HasLimit(), row.LimitMedian()),
          NumberIf(row.HasLimit(), row.Share()),
          NumberIf(row.bytes > 0, row.bytes),
          NumberIf(row.bytes > 0, row.BytesPerSecond() / 1e9),
          NumberIf(row.items > 0, static_cast<double>(row.items)),
          NumberIf(row.items > 0, row.ItemsPerSecond())};
}

}  // namespace

std::string RunToCsv(const BenchRun& run) {
  std::vector<std::string> heading = {
      "name",          "case",  "threads", "contender", "caches", "rounds",
      "seconds",       "min",   "p10",     "p90",       "p99",    "spread",
      "limit_seconds", "share", "bytes",   "gbps",      "items",  "items_per_second"};
  const std::vector<std::string> axes = KeysOf(run, &Measurement::values);
  const std::vector<std::string> facts = KeysOf(run, &Measurement::facts);
  for (const std::string& axis : axes) heading.push_back("axis_" + axis);
  for (const std::string& fact : facts) heading.push_back("fact_" + fact);
  std::string csv = Line(heading);
  for (const Measurement& row : run.rows) {
    std::vector<std::string> fields = FieldsOf(row);
    for (const std::string& axis : axes) {
      const std::string* value = FindValue(row.values, axis);
      fields.push_back(value == nullptr ? "" : *value);
    }
    for (const std::string& fact : facts) {
      const double* value = FindValue(row.facts, fact);
      fields.push_back(value == nullptr ? "" : Number(*value));
    }
    csv += Line(fields);
  }
  return csv;
}

}  // namespace tessera::bench
