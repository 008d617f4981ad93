#include "train/config/managed_collision_json.h"

#include <algorithm>
#include <limits>

#include "runtime/json/json_kinds.h"

namespace tessera::internal {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

std::string RangeText(int64_t low, int64_t high) {
  return high == kAny ? Format("{} or more", low) : Format("{} to {}", low, high);
}

void ReadWithin(JsonObject& object, const char* key, int64_t low, int64_t high, int64_t& number) {
  object.Try([&] {
    object.Optional(key, number);
    object.Note(key, Within(low, high));
    if (number >= low && number <= high) return;
    throw Error(Format("{}: expected {}, got {}", object.at(key), RangeText(low, high), number));
  });
}

// `apart`: a number below the others, which stands for something else than they.
void ReadWithinOr(JsonObject& object, const char* key, int64_t apart, int64_t low, int64_t high,
                  int64_t& number) {
  object.Try([&] {
    object.Optional(key, number);
    const Json others = Within(low, high), one = {{"const", apart}};
    const Json either = {{"anyOf", {others, one}}};
    object.Note(key, either);
    if (number == apart || (number >= low && number <= high)) return;
    throw Error(Format("{}: expected {}, or {}, got {}", object.at(key), apart,
                       RangeText(low, high), number));
  });
}

void ReadWithin(JsonObject& object, const char* key, double high, double& number) {
  object.Try([&] {
    object.Optional(key, number);
    object.Note(key, {{"minimum", 0}, {"maximum", high}});
    if (!(number >= 0 && number <= high))
      throw Error(
          Format("{}: expected a number from 0 to {}, got {}", object.at(key), high, number));
  });
}

void ReadEviction(JsonObject& object, MchEviction& eviction) {
  object.Try([&] {
    object.OptionalWord("eviction", eviction,
                        {MchEviction::kLru, MchEviction::kLfu, MchEviction::kDistanceLfu});
  });
}

GrowingIndexOptions ReadGrowing(JsonObject& object) {
  GrowingIndexOptions options;
  ReadEviction(object, options.score);
  ReadWithin(object, "admit_after", 1, 255, options.admit_after);
  ReadWithin(object, "sketch_bytes", 0, kAny, options.sketch_bytes);
  ReadWithin(object, "shared_rows", 1, kAny - 1, options.shared_rows);
  return options;
}

AdmissionConfig ReadAdmissionOfKind(const Json& value, const std::string& where,
                                    JsonProblems* problems) {
  using Kind = AdmissionKind;
  JsonObject object(value, where, problems);
  AdmissionConfig admission;
  object.Require("kind");
  object.OptionalWord("kind", admission.kind,
                      {Kind::kAll, Kind::kDynamic, Kind::kAverage, Kind::kProbabilistic});
  if (admission.kind == Kind::kDynamic)
    ReadWithin(object, "skew_multiplier", 1e9, admission.skew_multiplier);
  if (admission.kind == Kind::kProbabilistic)
    ReadWithin(object, "per_id_probability", 1, admission.per_id_probability);
  object.Finish();
  return admission;
}

AdmissionConfig ReadAdmission(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonKinds kinds = {.key = "kind", .words = {}};
  for (const AdmissionKind kind : {AdmissionKind::kAll, AdmissionKind::kDynamic,
                                   AdmissionKind::kAverage, AdmissionKind::kProbabilistic})
    kinds.words.push_back(ToString(kind));
  return ReadKinds(value, problems, kinds, [&](const Json& admission, JsonProblems* of) {
    return ReadAdmissionOfKind(admission, where, of);
  });
}

MchConfig ReadMch(JsonObject& object) {
  MchConfig config;
  ReadEviction(object, config.eviction);
  object.Try([&] {
    object.Optional("decay_exponent", config.decay_exponent);
    object.Note("decay_exponent", Above(0));
    if (!(config.decay_exponent > 0))
      throw Error(Format("{}: expected a number above 0, got {}", object.at("decay_exponent"),
                         config.decay_exponent));
  });
  object.Part("admission", JsonNeed::kOptional,
              [&](const auto&... admission) { config.admission = ReadAdmission(admission...); });
  ReadWithin(object, "eviction_interval", 1, 1'000'000'000, config.eviction_interval);
  ReadWithin(object, "input_hash_size", 0, kAny, config.input_hash_size);
  ReadWithin(object, "mch_size", 0, kAny - 2, config.mch_size);
  return config;
}

HashZchOptions ReadHashZch(JsonObject& object) {
  using Eviction = HashZchEviction;
  HashZchOptions options{.clock = HashZchClock::kForwards};
  object.Try([&] {
    object.OptionalWord(
        "eviction", options.eviction,
        {Eviction::kNone, Eviction::kSingleTtl, Eviction::kPerFeatureTtl, Eviction::kLru});
  });
  ReadWithin(object, "single_ttl", 0, kAny, options.single_ttl);
  object.Try([&] { object.Optional("per_feature_ttl", options.per_feature_ttl); });
  object.Try([&] {
    object.OptionalWord("clock", options.clock, {HashZchClock::kForwards, HashZchClock::kHours});
  });
  ReadWithin(object, "total_num_buckets", 1, kAny, options.total_num_buckets);
  ReadWithin(object, "max_probe", 1, kAny, options.max_probe);
  ReadWithin(object, "input_hash_size", 0, kAny, options.input_hash_size);
  int64_t opt_in = options.opt_in_prob;
  ReadWithinOr(object, "opt_in_prob", -1, 1, 100, opt_in);
  options.opt_in_prob = static_cast<int>(opt_in);
  ReadWithin(object, "percent_reserved_slots", 100, options.percent_reserved_slots);
  object.Try([&] { object.Optional("disable_fallback", options.disable_fallback); });
  return options;
}

const JsonKinds kModules = {"kind", {"growing", "mch", "hash_zch"}};

ManagedCollisionConfig ReadModule(JsonObject& object) {
  std::string kind;
  object.Required("kind", kind);
  if (kind == "growing") return ReadGrowing(object);
  if (kind == "mch") return ReadMch(object);
  if (kind == "hash_zch") return ReadHashZch(object);
  ThrowExpectedWord(object.at("kind"), kModules.words, kind);
}

ManagedTableConfig ReadTable(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  object.AlsoTakes("null");
  ManagedTableConfig config{.module = ReadModule(object)};
  ReadWithin(object, "num_parts", 0, kAny, config.num_parts);
  object.Finish();
  return config;
}

Json OptionsToJson(const GrowingIndexOptions& options) {
  return {{"eviction", ToString(options.score)},
          {"admit_after", options.admit_after},
          {"sketch_bytes", options.sketch_bytes},
          {"shared_rows", options.shared_rows}};
}

Json AdmissionToJson(const AdmissionConfig& admission) {
  Json json = {{"kind", ToString(admission.kind)}};
  if (admission.kind == AdmissionKind::kDynamic)
    json["skew_multiplier"] = admission.skew_multiplier;
  if (admission.kind == AdmissionKind::kProbabilistic)
    json["per_id_probability"] = admission.per_id_probability;
  return json;
}

Json OptionsToJson(const MchConfig& config) {
  return {{"eviction", ToString(config.eviction)},
          {"decay_exponent", config.decay_exponent},
          {"admission", AdmissionToJson(config.admission)},
          {"eviction_interval", config.eviction_interval},
          {"input_hash_size", config.input_hash_size},
          {"mch_size", config.mch_size}};
}

Json OptionsToJson(const HashZchOptions& options) {
  return {{"eviction", ToString(options.eviction)},
          {"single_ttl", options.single_ttl},
          {"per_feature_ttl", options.per_feature_ttl},
          {"clock", ToString(options.clock)},
          {"total_num_buckets", options.total_num_buckets},
          {"max_probe", options.max_probe},
          {"input_hash_size", options.input_hash_size},
          {"opt_in_prob", options.opt_in_prob},
          {"percent_reserved_slots", options.percent_reserved_slots},
          {"disable_fallback", options.disable_fallback}};
}

// The fewest rows of a table, or of each of its parts: the rows that ids share, and one for an id.
int64_t LeastRows(const ManagedCollisionConfig& config) {
  if (const auto* growing = std::get_if<GrowingIndexOptions>(&config))
    return growing->shared_rows + 1;
  const auto* mch = std::get_if<MchConfig>(&config);
  return mch == nullptr ? 2 : mch->mch_size + 2;
}

}  // namespace

std::optional<ManagedTableConfig> ManagedCollisionFromJson(const Json& value,
                                                           const std::string& where,
                                                           JsonProblems* problems) {
  if (value.is_null()) return std::nullopt;
  return ReadKinds(value, problems, kModules, [&](const Json& module, JsonProblems* of) {
    return ReadTable(module, where, of);
  });
}

Json ManagedCollisionToJson(const ManagedTableConfig& config) {
  Json json = {{"kind", KindOf(config.module)}};
  json.update(
      std::visit([](const auto& options) { return OptionsToJson(options); }, config.module));
  if (config.num_parts > 0) json["num_parts"] = config.num_parts;
  return json;
}

void CheckManagedTable(const ManagedTableConfig& config, const BaseEmbeddingConfig& table,
                       const std::string& where) {
  const int64_t parts = std::max<int64_t>(1, config.num_parts);
  if (table.num_embeddings % parts != 0)
    throw Error(Format("{}.num_parts: expected a divisor of the {} rows, got {}", where,
                       table.num_embeddings, parts));
  const int64_t rows = table.num_embeddings / parts, least = LeastRows(config.module);
  if (rows < least)
    throw Error(Format("{}: expected {} rows or more{}, got {}", where, least,
                       config.num_parts > 0 ? " in each part" : "", rows));
  const auto* zch = std::get_if<HashZchOptions>(&config.module);
  if (zch != nullptr && zch->eviction == HashZchEviction::kPerFeatureTtl &&
      zch->per_feature_ttl.size() != table.feature_names.size())
    throw Error(Format("{}.per_feature_ttl: expected a number for each of {} features, got {}",
                       where, table.feature_names.size(), zch->per_feature_ttl.size()));
  BaseEmbeddingConfig part = table;
  part.num_embeddings = rows;
  try {
    CheckManagedCollisionOptions(config.module, part);
  } catch (const Error& error) {
    throw Error(
        Format("{}: {}{}", where, config.num_parts > 0 ? "in each part: " : "", error.what()));
  }
}

}  // namespace tessera::internal
