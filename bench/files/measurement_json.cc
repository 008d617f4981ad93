#include "bench/files/measurement_json.h"

#include <optional>

#include "runtime/json/json_fields.h"

namespace tessera::bench {
namespace {

using internal::FindField;
using internal::Json;
using internal::JsonObject;
using internal::ReadField;

template <typename T>
Json ObjectOf(const std::vector<std::pair<std::string, T>>& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

void WriteLimit(const Measurement& row, Json& json) {
  if (!row.HasLimit()) return;
  json["limit_seconds"] = row.LimitMedian();
  json["share"] = row.Share();
  json["limit_samples"] = row.limit_seconds;
}

void WriteRates(const Measurement& row, Json& json) {
  if (row.bytes > 0) {
    json["bytes"] = row.bytes;
    json["gbps"] = row.BytesPerSecond() / 1e9;
  }
  if (row.items > 0) {
    json["items"] = row.items;
    json["item"] = row.item;
    json["items_per_second"] = row.ItemsPerSecond();
  }
}

// Whether the calls of all rows found cold caches; none where rows differ.
std::optional<bool> ColdOfAll(const BenchRun& run) {
  for (const Measurement& row : run.rows)
    if (row.cold != run.rows[0].cold) return std::nullopt;
  return run.rows.empty() || run.rows[0].cold;
}

Json RowToJson(const Measurement& row, bool say_cold) {
  Json json = {
      {"name", row.Name()},         {"case", row.case_name},    {"threads", row.threads},
      {"contender", row.contender}, {"seconds", row.Median()},  {"min", row.Quantile(0)},
      {"p10", row.Quantile(0.1)},   {"p90", row.Quantile(0.9)}, {"p99", row.Quantile(0.99)},
      {"spread", row.Spread()},     {"samples", row.seconds}};
  if (row.Passes() > 1) json["passes"] = row.pass_rounds;
  WriteLimit(row, json);
  WriteRates(row, json);
  json["values"] = ObjectOf(row.values);
  json["facts"] = ObjectOf(row.facts);
  if (say_cold) json["cold"] = row.cold;
  return json;
}

// The pairs of the object under `key`, in its order.
template <typename T>
void ReadPairs(JsonObject& object, const char* key, std::vector<std::pair<std::string, T>>& out) {
  const Json* pairs = FindField(object, key);
  if (pairs == nullptr) return;
  if (!pairs->is_object()) internal::ThrowExpected(object.at(key), "an object {…}", *pairs);
  for (const auto& [name, value] : pairs->items())
    internal::ReadJson(value, object.at(key) + "." + name, out.emplace_back(name, T{}).second);
}

void CheckSamples(const std::vector<double>& samples, const std::string& where) {
  for (size_t i = 0; i < samples.size(); ++i)
    if (!(samples[i] > 0))
      throw Error(Format("{}[{}]: expected seconds above 0, got {}", where, i, samples[i]));
}

void ReadPasses(JsonObject& object, Measurement& row) {
  ReadField(object, "passes", row.pass_rounds);
  const auto samples = static_cast<int64_t>(row.seconds.size());
  int64_t rounds = 0;
  for (const int64_t of_pass : row.pass_rounds) {
    if (of_pass < 1 || of_pass > samples)
      throw Error(Format("{}: expected numbers of rounds from 1 to {}, got {}", object.at("passes"),
                         samples, of_pass));
    rounds += of_pass;
  }
  if (!row.pass_rounds.empty() && rounds != samples)
    throw Error(Format("{}: expected {} rounds in all, one for each sample, got {}",
                       object.at("passes"), samples, rounds));
}

void ReadLimit(JsonObject& object, Measurement& row) {
  double each_round = 0;
  ReadField(object, "limit_seconds", each_round);
  ReadField(object, "limit_samples", row.limit_seconds);
  if (row.limit_seconds.empty() && each_round > 0)
    row.limit_seconds.assign(row.seconds.size(), each_round);
  if (!row.limit_seconds.empty() && row.limit_seconds.size() != row.seconds.size())
    throw Error(Format("{}: expected {} seconds, one for each sample, got {}",
                       object.at("limit_samples"), row.seconds.size(), row.limit_seconds.size()));
  CheckSamples(row.limit_seconds, object.at("limit_samples"));
}

// cold: unless the row says otherwise.
Measurement RowFromJson(const Json& json, const std::string& where, const BenchRun& run,
                        bool cold) {
  JsonObject object(json, where);
  Measurement row;
  row.topic = run.topic;
  row.cold = cold;
  object.Required("case", row.case_name);
  ReadField(object, "threads", row.threads);
  object.Required("contender", row.contender);
  object.Required("samples", row.seconds);
  if (row.seconds.empty()) throw Error(Format("{}: there are none", object.at("samples")));
  CheckSamples(row.seconds, object.at("samples"));
  ReadPasses(object, row);
  ReadLimit(object, row);
  ReadField(object, "bytes", row.bytes);
  ReadField(object, "items", row.items);
  ReadField(object, "item", row.item);
  ReadField(object, "cold", row.cold);
  ReadPairs(object, "values", row.values);
  ReadPairs(object, "facts", row.facts);
  for (const char* derived : {"name", "seconds", "min", "p10", "p90", "p99", "spread", "share",
                              "gbps", "items_per_second"})
    object.Find(derived);
  object.Finish();
  return row;
}

BenchRun ParseRun(const Json& json) {
  JsonObject object(json, "");
  BenchRun run;
  ReadField(object, "machine", run.machine);
  ReadField(object, "date", run.date);
  object.Required("topic", run.topic);
  ReadField(object, "rounds", run.rounds);
  bool cold = true;
  ReadField(object, "cold", cold);
  ReadPairs(object, "context", run.context);
  internal::ForEachElement(object, "rows", [&](const Json& row, const std::string& where) {
    run.rows.push_back(RowFromJson(row, where, run, cold));
  });
  object.Finish();
  return run;
}

}  // namespace

std::string RunToJson(const BenchRun& run) {
  Json head = {
      {"machine", run.machine}, {"date", run.date}, {"topic", run.topic}, {"rounds", run.rounds}};
  const std::optional<bool> cold = ColdOfAll(run);
  if (cold) head["cold"] = *cold;
  if (!run.context.empty()) head["context"] = ObjectOf(run.context);
  std::string text = head.dump();
  text.back() = ',';
  text += "\n\"rows\": [";
  const char* separator = "\n ";
  for (const Measurement& row : run.rows) {
    text += separator + RowToJson(row, !cold).dump();
    separator = ",\n ";
  }
  return text + "\n]}\n";
}

BenchRun RunFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(text, where, ParseRun);
}

}  // namespace tessera::bench
