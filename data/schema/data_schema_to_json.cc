// A data schema as a document: what a key would be without it is left out.
#include <string>
#include <vector>

#include "data/schema/data_schema_json.h"

namespace tessera::internal {
namespace {

template <typename Entry>
Json Named(const Entry& entry) {
  Json json = {{"name", entry.name}};
  if (entry.from != entry.name) json["from"] = entry.from;
  return json;
}

void AddIds(const FeatureEntry& entry, Json& json) {
  if (entry.ids == IdKind::kHex || entry.ids == IdKind::kText) json["ids"] = ToString(entry.ids);
  if (entry.ids == IdKind::kVocabulary) json["vocabulary"] = entry.vocabulary;
  if (entry.ids == IdKind::kBoundaries) json["boundaries"] = entry.boundaries;
}

template <typename Entry>
void AddList(const std::vector<Entry>& entries, const char* key, Json& json) {
  for (const Entry& entry : entries) {
    const Json item = EntryToJson(entry);
    json[key].push_back(item.size() == 1 ? item.at("name") : item);
  }
}

}  // namespace

Json TextsToJson(const std::vector<std::string>& texts) {
  return texts.size() == 1 ? Json(texts.front()) : Json(texts);
}

Json EntryToJson(const DenseEntry& entry) {
  Json json = Named(entry);
  if (!entry.missing)
    json["missing"] = "error";
  else if (*entry.missing != 0)
    json["missing"] = *entry.missing;
  if (entry.transform.kind != DenseTransform::Kind::kAsIs)
    json["transform"] = ToString(entry.transform);
  if (entry.normalize) json["normalize"] = {entry.normalize->first, entry.normalize->second};
  if (entry.size != 1) json["size"] = entry.size;
  if (!entry.separator.empty()) json["separator"] = entry.separator;
  return json;
}

Json EntryToJson(const FeatureEntry& entry) {
  Json json = Named(entry);
  if (entry.missing == MissingFeature::kRow0) json["missing"] = "row0";
  if (entry.missing == MissingFeature::kError) json["missing"] = "error";
  if (entry.missing == MissingFeature::kItem) json["missing"] = entry.missing_item;
  AddIds(entry, json);
  if (!entry.separator.empty()) json["separator"] = entry.separator;
  if (!entry.weights.empty()) json["weights"] = entry.weights;
  if (!entry.weight_after.empty()) json["weight_after"] = entry.weight_after;
  if (entry.drop_last > 0) json["drop_last"] = entry.drop_last;
  if (entry.max_length) json["max_length"] = *entry.max_length;
  if (entry.keep_last) json["keep"] = "last";
  return json;
}

Json EntryToJson(const LabelEntry& entry) {
  Json json = Named(entry);
  if (entry.missing == LabelEntry::Missing::kSkip) json["missing"] = "skip";
  if (entry.missing == LabelEntry::Missing::kNumber) json["missing"] = entry.missing_number;
  if (entry.at_least) json["at_least"] = *entry.at_least;
  return json;
}

Json DataSchemaToJson(const DataSchema& schema) {
  Json json = {{"format", ToString(schema.format)}};
  if (!schema.columns.empty()) json["columns"] = schema.columns;
  const char usual = schema.format == RowFormat::kTsv ? '\t' : ',';
  if (schema.delimiter != usual) json["delimiter"] = std::string(1, schema.delimiter);
  if (!schema.null.empty()) json["null"] = TextsToJson(schema.null);
  AddList(schema.dense, "dense", json);
  AddList(schema.features, "features", json);
  AddList(schema.labels, "labels", json);
  if (!schema.weight.empty()) json["weight"] = schema.weight;
  if (!schema.time.empty()) json["time"] = schema.time;
  return json;
}

}  // namespace tessera::internal
