#include "data/schema/data_schema_json.h"

#include <algorithm>
#include <set>

#include "data/schema/name_ranges.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/files.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace internal {
namespace {

constexpr int64_t kMaxBagLength = int64_t{1} << 31;

// A string that is not empty; "" where the key is absent.
std::string Text(JsonObject& object, const char* key) {
  std::string text;
  const Json* value = object.Find(key, {{"type", "string"}, {"minLength", 1}});
  if (value == nullptr) return text;
  ReadJson(*value, object.at(key), text);
  if (text.empty()) ThrowExpected(object.at(key), "a string that is not empty", *value);
  return text;
}

// A string or a list of them, none empty.
std::vector<std::string> Texts(JsonObject& object, const char* key) {
  std::vector<std::string> texts;
  const Json text = {{"type", "string"}, {"minLength", 1}};
  const Json* value =
      object.Find(key, {{"type", {"string", "array"}}, {"minLength", 1}, {"items", text}});
  if (value == nullptr) return texts;
  if (!value->is_array()) return {Text(object, key)};
  ReadJson(*value, object.at(key), texts);
  for (const std::string& text : texts)
    if (text.empty()) ThrowExpected(object.at(key), "strings that are not empty", *value);
  return texts;
}

template <typename Entry>
void CheckUnique(const std::vector<Entry>& entries, const std::string& where) {
  std::set<std::string> names;
  for (const Entry& entry : entries)
    if (!names.insert(entry.name).second)
      throw Error(Format("{}: two are called '{}'", where, entry.name));
}

// ---- one entry, but for its names

void FillMissing(JsonObject& object, DenseEntry& entry) {
  const Json* missing = object.Find(
      "missing", {{"type", {"number", "string"}}, {"pattern", "^error$"}, {"default", 0}});
  if (missing == nullptr) return;
  entry.missing.reset();
  if (*missing == "error") return;
  double number = 0;
  if (!missing->is_number()) ThrowExpected(object.at("missing"), "a number or \"error\"", *missing);
  ReadJson(*missing, object.at("missing"), number);
  entry.missing = number;
}

void FillTransform(JsonObject& object, DenseEntry& entry) {
  std::string transform = "as_is";
  object.Optional("transform", transform);
  object.Note("transform", {{"pattern", "^(as_is|log1p|log\\+-?[0-9]+)$"}});
  if (transform != "as_is" && transform != "log1p" && !transform.starts_with("log+"))
    ThrowExpected(object.at("transform"), "\"as_is\" or \"log1p\" or \"log+C\"", transform);
  try {
    entry.transform = ParseDenseTransform(transform);
  } catch (const Error&) {
    ThrowExpected(object.at("transform"), "\"log+C\" with an integer C", transform);
  }
}

void FillNormalize(JsonObject& object, DenseEntry& entry) {
  const Json* normalize = object.Find("normalize", ListSchema(TypeSchema(double{}), 2, 2));
  if (normalize == nullptr) return;
  std::vector<double> pair;
  ReadJson(*normalize, object.at("normalize"), pair);
  if (pair.size() != 2 || !(pair[1] > 0))
    ThrowExpected(object.at("normalize"), "[mean, deviation above 0]", *normalize);
  entry.normalize = {pair[0], pair[1]};
}

void Fill(JsonObject& object, DenseEntry& entry) {
  object.Try([&] { FillMissing(object, entry); });
  object.Try([&] { FillTransform(object, entry); });
  object.Try([&] { FillNormalize(object, entry); });
  object.Try([&] { object.OptionalPositive("size", entry.size, SizeLimits::kDim); });
  object.Try([&] { entry.separator = Text(object, "separator"); });
}

void FillMissing(JsonObject& object, FeatureEntry& entry) {
  const Json* missing =
      object.Find("missing", {{"type", {"string", "number"}}, {"default", "empty_bag"}});
  if (missing == nullptr || *missing == "empty_bag") return;
  if (*missing == "row0") {
    entry.missing = MissingFeature::kRow0;
  } else if (*missing == "error") {
    entry.missing = MissingFeature::kError;
  } else if (missing->is_string() || missing->is_number()) {
    entry.missing = MissingFeature::kItem;
    entry.missing_item = missing->is_string() ? missing->get<std::string>() : missing->dump();
  } else {
    ThrowExpected(object.at("missing"), "\"empty_bag\", \"row0\", \"error\", or an id", *missing);
  }
}

std::vector<std::string> LinesOf(const std::string& path) {
  const std::string text = ReadTextFile(path);
  std::vector<std::string> lines;
  for (size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    begin = end + 1;
  }
  return lines;
}

void FillVocabulary(const Json& value, const std::string& where, FeatureEntry& entry) {
  if (value.is_string())
    entry.vocabulary = LinesOf(value.get<std::string>());
  else
    ReadJson(value, where, entry.vocabulary);
  std::set<std::string> words;
  for (const std::string& word : entry.vocabulary) {
    if (!words.insert(word).second) throw Error(Format("{}: '{}' is there twice", where, word));
    if (!IsUtf8(word))
      throw Error(
          Format("{}: word {}: expected UTF-8, as the schema is saved as JSON, got other "
                 "bytes",
                 where, words.size()));
  }
}

void FillIds(JsonObject& object, FeatureEntry& entry) {
  const auto read_ids = [&] {
    object.OptionalWord("ids", entry.ids, {IdKind::kInt, IdKind::kHex, IdKind::kText});
  };
  if (object.describes()) read_ids();
  const Json* const ids = object.Find("ids");
  const Json* const vocabulary = object.Find(
      "vocabulary", {{"type", {"array", "string"}}, {"items", TypeSchema(std::string())}});
  const Json* const boundaries = object.Find("boundaries", ListSchema(TypeSchema(double{}), 0));
  if ((ids != nullptr) + (vocabulary != nullptr) + (boundaries != nullptr) > 1) {
    const std::string inside = object.at("ids");
    throw Error(Format("{}: give one of ids, vocabulary and boundaries",
                       inside.substr(0, inside.rfind('.'))));
  }
  if (ids != nullptr) read_ids();
  if (vocabulary != nullptr) {
    entry.ids = IdKind::kVocabulary;
    FillVocabulary(*vocabulary, object.at("vocabulary"), entry);
  }
  if (boundaries != nullptr) {
    entry.ids = IdKind::kBoundaries;
    ReadJson(*boundaries, object.at("boundaries"), entry.boundaries);
    const auto& b = entry.boundaries;
    if (std::adjacent_find(b.begin(), b.end(), std::greater_equal<>()) != b.end())
      ThrowExpected(object.at("boundaries"), "numbers that rise", *boundaries);
  }
}

void FillWeights(JsonObject& object, FeatureEntry& entry) {
  object.Try([&] { entry.weights = Text(object, "weights"); });
  object.Try([&] { entry.weight_after = Text(object, "weight_after"); });
  if (!entry.weights.empty() && !entry.weight_after.empty()) {
    const std::string inside = object.at("weights");
    throw Error(
        Format("{}: give weights or weight_after, not both", inside.substr(0, inside.rfind('.'))));
  }
}

void FillLengths(JsonObject& object, FeatureEntry& entry) {
  object.Try([&] { object.OptionalCount("drop_last", entry.drop_last, kMaxBagLength); });
  object.Try([&] {
    Json schema = TypeSchema(int64_t{});
    schema.update(Within(1, kMaxBagLength));
    const Json* most = object.Find("max_length", schema);
    if (most == nullptr) return;
    ReadJson(*most, object.at("max_length"), entry.max_length.emplace());
    CheckPositive(*entry.max_length, kMaxBagLength, object.at("max_length"));
  });
  object.Try([&] {
    const Json* keep = object.Find("keep", WordSchema({"first", "last"}, "first"));
    if (keep == nullptr) return;
    if (*keep != "first" && *keep != "last")
      ThrowExpectedWord(object.at("keep"), {"first", "last"}, *keep);
    entry.keep_last = *keep == "last";
  });
}

void Fill(JsonObject& object, FeatureEntry& entry) {
  object.Try([&] { FillMissing(object, entry); });
  object.Try([&] { FillIds(object, entry); });
  object.Try([&] { entry.separator = Text(object, "separator"); });
  object.Try([&] { FillWeights(object, entry); });
  FillLengths(object, entry);
}

void FillMissing(JsonObject& object, LabelEntry& entry) {
  using Missing = LabelEntry::Missing;
  const Json* missing = object.Find(
      "missing",
      {{"type", {"number", "string"}}, {"pattern", "^(skip|error)$"}, {"default", "error"}});
  if (missing == nullptr || *missing == "error") return;
  if (*missing == "skip") {
    entry.missing = Missing::kSkip;
  } else if (missing->is_number()) {
    entry.missing = Missing::kNumber;
    ReadJson(*missing, object.at("missing"), entry.missing_number);
  } else {
    ThrowExpected(object.at("missing"), "a number, \"skip\" or \"error\"", *missing);
  }
}

// Refuses keys of inputs in a label: scores would be of another number.
void RefuseTransforms(JsonObject& object) {
  for (const char* key : {"transform", "normalize"})
    if (object.Has(key))
      throw Error(Format(
          "{}: a label is learned as it is written; known here: name, from, missing, at_least. To "
          "learn another number, such as log(1 + price), write it into a column of its own; scores "
          "are of that number then",
          object.at(key)));
}

void Fill(JsonObject& object, LabelEntry& entry) {
  object.Try([&] { RefuseTransforms(object); });
  object.Try([&] { FillMissing(object, entry); });
  object.Try([&] {
    const Json* least = object.Find("at_least", TypeSchema(double{}));
    if (least != nullptr) ReadJson(*least, object.at("at_least"), entry.at_least.emplace());
  });
}

// ---- lists of entries

// One item of a list: an object, or a name alone; as many entries as its name has names.
template <typename Entry>
void AddEntries(const Json& item, const std::string& where, JsonProblems* problems,
                std::vector<Entry>& entries) {
  const Json named = {{"name", item}};
  JsonObject object(item.is_string() ? named : item, where, problems);
  object.AlsoTakes("string");
  std::string name, from;
  const bool good = object.Try([&] {
    name = Text(object, "name");
    object.Need("name");
    if (name.empty()) throw Error(Format("{}: the key is missing", object.at("name")));
  });
  object.Try([&] { from = Text(object, "from"); });
  if (from.empty()) from = name;
  Entry entry;
  Fill(object, entry);
  object.Finish();
  if (!good) return;
  const auto names = ExpandNames(name, object.at("name"));
  const auto columns = ExpandNames(from, object.at("from"));
  if (columns.size() != names.size())
    throw Error(
        Format("{}: expected {} columns, got {}", object.at("from"), names.size(), columns.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    entry.name = names[i];
    entry.from = columns[i];
    entries.push_back(entry);
  }
}

template <typename Entry>
void ReadEntries(JsonObject& object, const char* key, std::vector<Entry>& entries) {
  object.Parts(key, JsonNeed::kOptional, 0, "a list",
               [&](const auto&... item) { AddEntries(item..., entries); });
  CheckUnique(entries, object.at(key));
}

void ReadColumns(JsonObject& object, DataSchema& schema) {
  if (schema.format != RowFormat::kCsv && schema.format != RowFormat::kTsv) {
    for (const char* key : {"columns", "delimiter"})
      object.Refuse(key, Format("{} has none", schema.format));
    return;
  }
  const Json* list = object.Find("columns", ListSchema(TypeSchema(std::string()), 1));
  const std::string delimiter = Text(object, "delimiter");
  object.Note("delimiter", {{"default", schema.format == RowFormat::kTsv ? "\t" : ","}});
  if (schema.format == RowFormat::kTsv) schema.delimiter = '\t';
  if (!delimiter.empty()) {
    if (delimiter.size() != 1)
      ThrowExpected(object.at("delimiter"), "one character of one byte", delimiter);
    const bool quote = delimiter == "\"" && schema.format == RowFormat::kCsv;
    if (quote || delimiter == "\n" || delimiter == "\r")
      ThrowExpected(object.at("delimiter"), "neither a quote nor the end of a line", delimiter);
    schema.delimiter = delimiter[0];
  }
  if (list == nullptr) return;
  std::vector<std::string> given;
  ReadJson(*list, object.at("columns"), given);
  std::set<std::string> seen;
  for (const std::string& name : given)
    for (std::string& column : ExpandNames(name, object.at("columns"))) {
      if (!seen.insert(column).second)
        throw Error(Format("{}: two are called '{}'", object.at("columns"), column));
      schema.columns.push_back(std::move(column));
    }
  if (schema.columns.empty()) ThrowExpected(object.at("columns"), "at least one name", *list);
}

// Arrays are taken as they are: what only texts have is refused.
void CheckNpz(const DataSchema& schema, const JsonObject& object) {
  for (const FeatureEntry& f : schema.features)
    if (f.ids != IdKind::kInt || !f.separator.empty() || f.weighted() || f.drop_last > 0 ||
        f.max_length || f.keep_last || f.missing == MissingFeature::kItem)
      throw Error(
          Format("{}: feature '{}': npz has ids alone, so expected no key but name, from "
                 "and missing",
                 object.at("features"), f.name));
  for (const DenseEntry& d : schema.dense)
    if (d.from != d.name || d.missing != 0.0 || d.normalize || !d.separator.empty() ||
        d.transform.kind != DenseTransform::Kind::kAsIs)
      throw Error(
          Format("{}: '{}': npz's numbers are taken as they are, so expected no key but "
                 "name and size",
                 object.at("dense"), d.name));
  for (const LabelEntry& label : schema.labels)
    if (label.from != label.name || label.missing != LabelEntry::Missing::kError || label.at_least)
      throw Error(
          Format("{}: '{}': npz's labels are taken as they are, so expected no key but name",
                 object.at("labels"), label.name));
}

}  // namespace

DataSchema DataSchemaFromJson(JsonObject& object, RowFormat format) {
  DataSchema schema;
  schema.format = format;
  const auto read_of_text = [&](const char* key, auto& value, auto&& read) {
    object.Try([&] {
      if (!schema.is_text()) object.Refuse(key, "npz has none: its arrays are taken as they are");
      if (schema.is_text()) value = read(object, key);
    });
  };
  object.Try([&] { ReadColumns(object, schema); });
  read_of_text("null", schema.null, Texts);
  object.Try([&] { ReadEntries(object, "dense", schema.dense); });
  object.Try([&] { ReadEntries(object, "features", schema.features); });
  object.Try([&] { ReadEntries(object, "labels", schema.labels); });
  read_of_text("weight", schema.weight, Text);
  read_of_text("time", schema.time, Text);
  if (format == RowFormat::kNpz) object.Try([&] { CheckNpz(schema, object); });
  return schema;
}

}  // namespace internal

DataSchema ParseDataSchema(const std::string& json) {
  const internal::Json document = internal::ParseJson(json);
  internal::JsonObject object(document, "data");
  RowFormat format = RowFormat::kJsonl;
  object.Require("format");
  object.OptionalWord("format", format,
                      {RowFormat::kJsonl, RowFormat::kCsv, RowFormat::kTsv, RowFormat::kNpz});
  DataSchema schema = internal::DataSchemaFromJson(object, format);
  object.Finish();
  return schema;
}

}  // namespace tessera
