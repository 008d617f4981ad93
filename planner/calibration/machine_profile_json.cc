#include "planner/calibration/machine_profile_json.h"

#include <cmath>
#include <limits>

#include "runtime/json/json_fields.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonObject;
using internal::ParseField;
using internal::ReadJson;
using internal::RequiredWord;
using internal::RequireList;
using internal::ThrowExpected;

constexpr char kVersionKey[] = "tessera_profile";
constexpr int64_t kVersion = 1;

// ---- out

Json ToJson(const CostCurve& curve) {
  Json points = Json::array();
  for (const CostPoint& p : curve) points.push_back({p.at, p.seconds});
  return points;
}

Json ToJson(const RowPriceTable& table) {
  Json rows = Json::array();
  for (const RowPrices& r : table) rows.push_back({r.row_bytes, ToJson(r.by_working_set)});
  return rows;
}

Json ToJson(double price) { return price; }
Json ToJson(const CodecPrices& p) { return {{"encode", p.encode}, {"decode", p.decode}}; }
Json ToJson(const TierPrices& p) {
  return {{"table", p.table}, {"id", p.id}, {"row", p.row}, {"byte", p.byte}};
}

std::string NameOf(const std::string& name) { return name; }
std::string NameOf(WireType type) { return ToString(WireCodec{type}); }
template <typename T>
std::string NameOf(T value) {
  return ToString(value);
}

template <typename K, typename V>
Json ToJson(const std::map<K, V>& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[NameOf(key)] = ToJson(value);
  return object;
}

template <size_t n>
Json ToJson(const std::array<double, n>& prices, const std::array<std::string, n>& names) {
  Json object = Json::object();
  for (size_t i = 0; i < n; ++i) object[names[i]] = prices[i];
  return object;
}

Json ToJson(const std::vector<CollectivePrices>& collectives) {
  Json list = Json::array();
  for (const CollectivePrices& c : collectives)
    list.push_back({{"op", ToString(c.op)}, {"ranks", c.ranks}, {"time", ToJson(c.by_bytes)}});
  return list;
}

Json ToJson(const std::vector<StepOverhead>& steps) {
  Json list = Json::array();
  for (const StepOverhead& s : steps)
    list.push_back({{"ranks", s.ranks},
                    {"seconds", s.seconds},
                    {"factor", s.factor},
                    {"dense_factor", s.dense_factor}});
  return list;
}

// ---- in

double PriceIn(const Json& value, const std::string& where) {
  double price = 0;
  ReadJson(value, where, price);
  if (!std::isfinite(price) || price < 0) ThrowExpected(where, "a number, at least 0", value);
  return price;
}

void Read(const Json& value, const std::string& where, double& price) {
  price = PriceIn(value, where);
}

// The two entries of a pair, of which the first is above that of the pair before.
double PairIn(const Json& pair, const std::string& where, double before, const char* expected) {
  if (RequireList(pair, where, expected).size() != 2) ThrowExpected(where, expected, pair);
  const double at = PriceIn(pair[0], where + "[0]");
  if (at <= before) ThrowExpected(where + "[0]", Format("a number above {}", before), pair[0]);
  return at;
}

void Read(const Json& value, const std::string& where, CostCurve& curve) {
  RequireList(value, where, "a list of [at, seconds]");
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string place = Format("{}[{}]", where, i);
    const double at =
        PairIn(value[i], place, curve.empty() ? -1 : curve.back().at, "[at, seconds]");
    curve.push_back({at, PriceIn(value[i][1], place + "[1]")});
  }
}

void Read(const Json& value, const std::string& where, RowPriceTable& table) {
  RequireList(value, where, "a list of [row bytes, curve]");
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string place = Format("{}[{}]", where, i);
    const double before = table.empty() ? 0 : static_cast<double>(table.back().row_bytes);
    const double bytes = PairIn(value[i], place, before, "[row bytes, curve]");
    if (bytes > 1e15) ThrowExpected(place + "[0]", "bytes of a row", value[i][0]);
    RowPrices row{static_cast<int64_t>(bytes), {}};
    Read(value[i][1], place + "[1]", row.by_working_set);
    table.push_back(std::move(row));
  }
}

void Read(const Json& value, const std::string& where, CodecPrices& prices) {
  JsonObject object(value, where);
  Read(object.Require("encode"), object.at("encode"), prices.encode);
  Read(object.Require("decode"), object.at("decode"), prices.decode);
  object.Finish();
}

void Read(const Json& value, const std::string& where, TierPrices& prices) {
  JsonObject object(value, where);
  Read(object.Require("table"), object.at("table"), prices.table);
  Read(object.Require("id"), object.at("id"), prices.id);
  Read(object.Require("row"), object.at("row"), prices.row);
  Read(object.Require("byte"), object.at("byte"), prices.byte);
  object.Finish();
}

template <typename K>
K ParseKey(const std::string& name);
template <>
std::string ParseKey(const std::string& name) {
  return name;
}
template <>
DType ParseKey(const std::string& name) {
  return ParseDType(name);
}
template <>
WireType ParseKey(const std::string& name) {
  return ParseWireCodec(name).type;
}
template <>
ComputeKernel ParseKey(const std::string& name) {
  return ParseComputeKernel(name);
}

template <typename K, typename V>
void Read(const Json& value, const std::string& where, std::map<K, V>& map) {
  if (!value.is_object()) ThrowExpected(where, "an object", value);
  for (const auto& [name, entry] : value.items()) {
    const std::string place = where + "." + name;
    Read(entry, place, map[ParseField(name, place, ParseKey<K>)]);
  }
}

template <size_t n>
void Read(const Json& value, const std::string& where, const std::array<std::string, n>& names,
          std::array<double, n>& prices) {
  JsonObject object(value, where);
  for (size_t i = 0; i < n; ++i) Read(object.Require(names[i]), object.at(names[i]), prices[i]);
  object.Finish();
}

int CountIn(JsonObject& object, const char* key, int least) {
  int64_t count = 0;
  object.Required(key, count);
  if (count < least || count > std::numeric_limits<int>::max())
    throw Error(
        Format("{}: expected an integer, at least {}, got {}", object.at(key), least, count));
  return static_cast<int>(count);
}

void Read(const Json& value, const std::string& where, std::vector<CollectivePrices>& out) {
  RequireList(value, where, "a list of collectives");
  for (size_t i = 0; i < value.size(); ++i) {
    JsonObject object(value[i], Format("{}[{}]", where, i));
    CollectivePrices c;
    c.op = RequiredWord(object, "op", ParseCollectiveOp);
    c.ranks = CountIn(object, "ranks", 1);
    Read(object.Require("time"), object.at("time"), c.by_bytes);
    object.Finish();
    out.push_back(std::move(c));
  }
}

void Read(const Json& value, const std::string& where, std::vector<StepOverhead>& out) {
  RequireList(value, where, "a list of whole steps");
  for (size_t i = 0; i < value.size(); ++i) {
    JsonObject object(value[i], Format("{}[{}]", where, i));
    StepOverhead step;
    step.ranks = CountIn(object, "ranks", 1);
    Read(object.Require("seconds"), object.at("seconds"), step.seconds);
    Read(object.Require("factor"), object.at("factor"), step.factor);
    // Older profiles have one factor for both.
    step.dense_factor = step.factor;
    if (object.Has("dense_factor"))
      Read(object.Require("dense_factor"), object.at("dense_factor"), step.dense_factor);
    object.Finish();
    out.push_back(step);
  }
}

// A field of an object, by one of the functions above.
template <typename T>
void Take(JsonObject& object, const char* key, T& out) {
  Read(object.Require(key), object.at(key), out);
}

void ReadLookup(const Json& value, const std::string& where, LookupPrices& lookup) {
  JsonObject object(value, where);
  Take(object, "call", lookup.call);
  Take(object, "feature", lookup.feature);
  Take(object, "bag", lookup.bag);
  Take(object, "rows", lookup.rows);
  object.Finish();
}

void ReadUpdate(const Json& value, const std::string& where, UpdatePrices& update) {
  JsonObject object(value, where);
  Take(object, "call", update.call);
  Take(object, "table", update.table);
  Take(object, "occurrence", update.occurrence);
  Take(object, "sort", update.sort);
  Take(object, "rows", update.rows);
  Take(object, "row_type", update.row_type);
  object.Finish();
}

// Older profiles have factors of kernels, measured with one size, and a price of rows on disk
// alone.
void ReadTiers(JsonObject& object, MachineProfile& p) {
  if (object.Has("tiers")) return Take(object, "tiers", p.tiers);
  object.Require("kernels");
  if (p.device != "cpu")
    throw Error(
        Format("{}: expected prices of tables in host memory and on disk, which this "
               "profile of a GPU lacks; measure the machine again (tessera calibrate)",
               object.at("tiers")));
  double row = 0;
  if (const Json* disk_row = object.Find("disk_row")) Read(*disk_row, object.at("disk_row"), row);
  if (row > 0) p.tiers[ComputeKernel::kKeyValue] = {.row = row};
}

MachineProfile ReadProfile(const Json& document) {
  JsonObject object(document, "");
  internal::CheckVersion(object, kVersionKey, kVersion);
  MachineProfile p;
  object.Required("machine", p.machine);
  object.Required("device", p.device);
  object.Required("backend", p.backend);
  p.ranks = CountIn(object, "ranks", 1);
  p.threads = CountIn(object, "threads", 1);
  p.cores = CountIn(object, "cores", 0);
  p.measuring_ranks = CountIn(object, "measuring_ranks", 1);
  ReadLookup(object.Require("lookup"), "lookup", p.lookup);
  ReadUpdate(object.Require("update"), "update", p.update);
  Json input_dist = object.Require("input_dist");
  // Older profiles lack this price.
  if (input_dist.is_object()) input_dist.emplace("split_segment", 0.0);
  Read(input_dist, "input_dist", InputItemNames(), p.input_dist);
  Read(object.Require("output_dist"), "output_dist", OutputItemNames(), p.output_dist);
  Read(object.Require("gradient_dist"), "gradient_dist", OutputItemNames(), p.gradient_dist);
  Take(object, "collectives", p.collectives);
  Take(object, "codecs", p.codecs);
  ReadTiers(object, p);
  Take(object, "dense", p.dense);
  Take(object, "steps", p.steps);
  object.Finish();
  return p;
}

}  // namespace

std::string MachineProfileToJson(const MachineProfile& p) {
  const Json document = {{kVersionKey, kVersion},
                         {"machine", p.machine},
                         {"device", p.device},
                         {"backend", p.backend},
                         {"ranks", p.ranks},
                         {"threads", p.threads},
                         {"cores", p.cores},
                         {"measuring_ranks", p.measuring_ranks},
                         {"lookup",
                          {{"call", p.lookup.call},
                           {"feature", p.lookup.feature},
                           {"bag", ToJson(p.lookup.bag)},
                           {"rows", ToJson(p.lookup.rows)}}},
                         {"update",
                          {{"call", p.update.call},
                           {"table", p.update.table},
                           {"occurrence", ToJson(p.update.occurrence)},
                           {"sort", ToJson(p.update.sort)},
                           {"rows", ToJson(p.update.rows)},
                           {"row_type", ToJson(p.update.row_type)}}},
                         {"input_dist", ToJson(p.input_dist, InputItemNames())},
                         {"output_dist", ToJson(p.output_dist, OutputItemNames())},
                         {"gradient_dist", ToJson(p.gradient_dist, OutputItemNames())},
                         {"collectives", ToJson(p.collectives)},
                         {"codecs", ToJson(p.codecs)},
                         {"tiers", ToJson(p.tiers)},
                         {"dense", ToJson(p.dense)},
                         {"steps", ToJson(p.steps)}};
  return document.dump();
}

MachineProfile MachineProfileFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(text, where, ReadProfile);
}

MachineProfile MachineProfileOf(const TopologyFile& machine) {
  return MachineProfileFromJson(machine.profile, Format("{}: profile", machine.where));
}

}  // namespace tessera
