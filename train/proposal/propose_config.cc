#include "train/proposal/propose_config.h"

#include "data/schema/data_schema_json.h"
#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/json/json_object.h"

namespace tessera {
namespace {

using internal::Json;

constexpr int64_t kDim = 16;

// An entry that is a name alone has defaults for all other keys.
Json NameAlone(const Json& entry) { return entry.size() == 1 ? entry.at("name") : entry; }

Json FeatureJson(const FeatureEntry& entry) {
  Json json = {{"name", entry.name}};
  if (entry.ids == IdKind::kVocabulary)
    json["vocabulary"] = entry.vocabulary;
  else if (entry.ids != IdKind::kInt)
    json["ids"] = ToString(entry.ids);
  if (!entry.separator.empty()) json["separator"] = entry.separator;
  if (!entry.weight_after.empty()) json["weight_after"] = entry.weight_after;
  return NameAlone(json);
}

Json LabelJson(const ColumnProfile& column, const ProposedColumn& proposed) {
  Json json = {{"name", column.name}};
  if (proposed.at_least) json["at_least"] = *proposed.at_least;
  if (column.missing > 0) json["missing"] = "skip";
  return NameAlone(json);
}

// With six digits, which a reader can take in.
double Rounded(double number) { return NearestDouble(Format("{:.6g}", number)); }

// Numbers of a dense column in a row.
int64_t SizeOf(const ColumnProfile& column) {
  return static_cast<int64_t>(column.lengths.greatest());
}

Json DenseJson(const ColumnProfile& column, const ProposedColumn& proposed) {
  Json json = {{"name", column.name}};
  if (column.is_bag()) json["size"] = SizeOf(column);
  if (!column.separator.empty()) json["separator"] = column.separator;
  if (proposed.log) {
    json["transform"] = "log1p";
    return json;
  }
  const auto [mean, deviation] = column.values.Typical();
  if ((column.values.least() < -4 || column.values.greatest() > 4) && deviation > 0)
    json["normalize"] = {Rounded(mean), Rounded(deviation)};
  return NameAlone(json);
}

Json FilesJson(const DataSchema& files) {
  Json json = {{"format", ToString(files.format)}};
  const char usual = files.format == RowFormat::kTsv ? '\t' : ',';
  if (files.format != RowFormat::kJsonl && files.delimiter != usual)
    json["delimiter"] = std::string(1, files.delimiter);
  if (!files.columns.empty()) json["columns"] = files.columns;
  if (!files.null.empty()) json["null"] = internal::TextsToJson(files.null);
  return json;
}

Json TableJson(const ColumnProfile& column, const ProposedColumn& proposed) {
  return {{"name", "t_" + column.name},
          {"rows", proposed.rows},
          {"dim", kDim},
          {"pooling", column.is_bag() ? "MEAN" : "SUM"},
          {"features", {column.name}}};
}

// A DLRM, or, for one feature alone, whose row it has nothing to multiply with, a DeepFM.
Json ModelJson(int64_t dense, size_t features, bool weighted) {
  const bool alone = dense == 0 && features == 1;
  Json json = {{"type", alone ? "deepfm" : "dlrm"}, {"dense_in", dense}};
  if (dense > 0) json["dense_arch"] = {64, kDim};
  if (alone)
    json["deep_fm_dim"] = 64;
  else
    json["over_arch"] = {128, 64, 1};
  if (weighted) json["weighted"] = true;
  return json;
}

// An item of a list a line, and a key of the document a line.
std::string Laid(const Json& document) {
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += Format("{}\n  {}: ", text == "{" ? "" : ",", Json(key).dump());
    if (key != "tables" && key != "data") {
      text += value.dump();
      continue;
    }
    const bool list = value.is_array();
    text += list ? "[" : "{";
    std::string separator = "\n    ";
    for (const auto& [name, item] : value.items()) {
      text += separator + (list ? "" : Json(name).dump() + ": ") + item.dump();
      separator = ",\n    ";
    }
    text += list ? "\n  ]" : "\n  }";
  }
  return text + "\n}\n";
}

// "; with 0 and 1 for their words these could be labels: 'bought' (no, yes), …", or "".
std::string TwoWordsHint(const RowsProfile& profile) {
  std::string text;
  for (const ColumnProfile& column : profile.columns)
    if (const auto words = TwoWords(column))
      text += Format("{}'{}' ({}, {})", text.empty() ? "" : ", ", column.name, words->first,
                     words->second);
  return text.empty() ? "" : "; with 0 and 1 for their words these could be labels: " + text;
}

// The keys beside data, tables and the model.
Json WithTraining(Json document) {
  const Json rule = {{"name", "rowwise_adagrad"}, {"lr", 0.02}, {"eps", 1e-8}};
  const Json adam = {{"name", "adam"}, {"lr", 0.001}};
  document["optimizer"] = {{"sparse", rule}, {"dense", adam}};
  document["train"] = {{"batch_size", 256}, {"epochs", 1}, {"seed", 1}};
  return document;
}

// The document for Criteo's columns, which the format "criteo" knows by its own names.
std::string CriteoConfig(const RowsProfile& profile) {
  constexpr size_t kNumbers = 13;
  Json tables = Json::array();
  for (size_t i = 1 + kNumbers; i < profile.columns.size(); ++i) {
    const std::string name = Format("cat_{}", i - 1 - kNumbers);
    tables.push_back({{"name", "t_" + name},
                      {"rows", RowsOfHashes(profile.columns[i])},
                      {"dim", kDim},
                      {"pooling", "SUM"},
                      {"features", {name}}});
  }
  const size_t features = tables.size();
  return Laid(WithTraining({{"data", {{"format", "criteo"}}},
                            {"tables", std::move(tables)},
                            {"model", ModelJson(kNumbers, features, false)}}));
}

}  // namespace

std::string ProposeConfig(const RowsProfile& profile, const std::vector<ProposedColumn>& columns) {
  if (AreCriteoColumns(profile) && columns.front().role == ColumnRole::kLabel)
    return CriteoConfig(profile);
  Json data = FilesJson(profile.files), tables = Json::array();
  Json dense = Json::array(), features = Json::array(), labels = Json::array();
  int64_t numbers = 0;
  bool weighted = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnProfile& column = profile.columns[i];
    switch (columns[i].role) {
      case ColumnRole::kLabel:
        labels.push_back(LabelJson(column, columns[i]));
        break;
      case ColumnRole::kTime:
        data["time"] = column.name;
        break;
      case ColumnRole::kDense:
        dense.push_back(DenseJson(column, columns[i]));
        numbers += SizeOf(column);
        break;
      case ColumnRole::kUnused:
        break;
      case ColumnRole::kFeature:
        features.push_back(FeatureJson(columns[i].feature));
        tables.push_back(TableJson(column, columns[i]));
        weighted = weighted || !column.weight_after.empty();
    }
  }
  if (labels.empty())
    throw Error(
        "no column looks like a label (its name says so, or its values are 0 and 1): name one by "
        "--label COLUMN" +
        TwoWordsHint(profile));
  if (tables.empty()) throw Error("no column looks like a categorical feature, which tables need");
  if (!dense.empty()) data["dense"] = dense;
  data["features"] = features;
  data["labels"] = labels;
  return Laid(WithTraining({{"data", data},
                            {"tables", tables},
                            {"model", ModelJson(numbers, features.size(), weighted)}}));
}

}  // namespace tessera
