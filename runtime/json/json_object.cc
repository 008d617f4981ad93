#include "runtime/json/json_object.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/nearest.h"
#include "runtime/base/size_limits.h"
#include "runtime/json/json_reader.h"

namespace tessera::internal {
namespace {

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t kShown = 60;
  if (text.size() > kShown) text = text.substr(0, kShown) + "…";
  return text;
}

void ReadScalar(const Json& value, const std::string& where, bool& out) {
  if (!value.is_boolean()) ThrowExpected(where, "true or false", value);
  out = value.get<bool>();
}

void ReadScalar(const Json& value, const std::string& where, int64_t& out) {
  const bool too_big = value.is_number_unsigned() &&
                       value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  if (!value.is_number_integer() || too_big) ThrowExpected(where, "an integer", value);
  out = value.get<int64_t>();
}

void ReadScalar(const Json& value, const std::string& where, double& out) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    ThrowExpected(where, "a number", value);
  out = value.get<double>();
}

void ReadScalar(const Json& value, const std::string& where, float& out) {
  double number = 0;
  ReadScalar(value, where, number);
  out = static_cast<float>(number);
  if (!std::isfinite(out) || (out == 0 && number != 0))
    ThrowExpected(where, "a number that a float can hold", value);
}

void ReadScalar(const Json& value, const std::string& where, std::string& out) {
  if (!value.is_string()) ThrowExpected(where, "a string", value);
  out = value.get<std::string>();
}

template <typename T>
void ReadScalar(const Json& value, const std::string& where, std::vector<T>& out) {
  if (!value.is_array()) ThrowExpected(where, "a list", value);
  out.clear();
  for (size_t i = 0; i < value.size(); ++i)
    ReadScalar(value[i], Format("{}[{}]", where, i), out.emplace_back());
}

}  // namespace

void ThrowExpected(const std::string& where, std::string_view expected, const Json& got) {
  throw Error(Format("{}: expected {}, got {}", where, expected, Shown(got)));
}

void ThrowExpectedWord(const std::string& where, const std::vector<std::string>& words,
                       const Json& got) {
  const std::string near = got.is_string() ? DidYouMean(got.get<std::string>(), words) : "";
  throw Error(Format("{}: expected {}, got {}{}", where, AnyOfWords(words), Shown(got), near));
}

Json ParseJson(const std::string& text) { return ReadJsonText(text); }

template <typename T>
void ReadJson(const Json& value, const std::string& where, T& out) {
  ReadScalar(value, where, out);
}
template void ReadJson(const Json&, const std::string&, bool&);
template void ReadJson(const Json&, const std::string&, int64_t&);
template void ReadJson(const Json&, const std::string&, double&);
template void ReadJson(const Json&, const std::string&, float&);
template void ReadJson(const Json&, const std::string&, std::string&);
template void ReadJson(const Json&, const std::string&, std::vector<int64_t>&);
template void ReadJson(const Json&, const std::string&, std::vector<float>&);
template void ReadJson(const Json&, const std::string&, std::vector<double>&);
template void ReadJson(const Json&, const std::string&, std::vector<std::string>&);

bool JsonProblems::In(std::string_view path) const {
  return std::ranges::any_of(problems_, [&](std::string_view problem) {
    if (!problem.starts_with(path)) return false;
    const char next = problem.size() == path.size() ? ':' : problem[path.size()];
    return next == ':' || next == '.' || next == '[' || next == ' ';
  });
}

void JsonProblems::Add(const JsonProblems& others) {
  problems_.insert(problems_.end(), others.problems_.begin(), others.problems_.end());
}

void JsonProblems::ThrowIfAny(const std::string& source) const {
  if (problems_.empty()) return;
  if (problems_.size() == 1) throw Error(Format("{}: {}", source, problems_.front()));
  std::string text = Format("{}: {} problems:", source, problems_.size());
  for (const std::string& problem : problems_) text += "\n  " + problem;
  throw Error(text);
}

JsonObject::JsonObject(const Json& value, std::string where, JsonProblems* problems)
    : value_(value),
      where_(std::move(where)),
      problems_(problems),
      schema_(problems == nullptr ? nullptr : problems->schema()) {
  if (!value.is_object())
    ThrowExpected(where_.empty() ? "the document" : where_, "an object {…}", value);
  if (describes()) *schema_ = {{"type", "object"}, {"properties", Json::object()}};
}

std::string JsonObject::at(std::string_view key) const {
  return where_.empty() ? std::string(key) : Format("{}.{}", where_, key);
}

const Json* JsonObject::Find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  const auto found = value_.find(std::string(key));
  return found == value_.end() ? nullptr : &*found;
}

const Json* JsonObject::Find(std::string_view key, const Json& schema) {
  if (describes()) Describe(key, schema);
  return Find(key);
}

bool JsonObject::Has(std::string_view key) const { return value_.contains(std::string(key)); }

const Json& JsonObject::Require(std::string_view key) {
  const Json* value = Find(key);
  if (value == nullptr) throw Error(Format("{}: the key is missing", at(key)));
  return *value;
}

void JsonObject::OptionalPositive(std::string_view key, int64_t& out, int64_t most) {
  Optional(key, out);
  Note(key, Within(1, most));
  CheckPositive(out, most, at(key));
}

void JsonObject::OptionalCount(std::string_view key, int64_t& out, int64_t most) {
  Optional(key, out);
  Note(key, Within(0, most));
  CheckCount(out, most, at(key));
}

void JsonObject::Refuse(std::string_view key, std::string_view reason) {
  if (describes()) return;
  if (Find(key) != nullptr) throw Error(Format("{}: {}", at(key), reason));
}

void JsonObject::Describe(std::string_view key, const Json& schema, JsonNeed need) {
  (*schema_)["properties"][std::string(key)] = schema;
  if (need == JsonNeed::kRequired) (*schema_)["required"].push_back(key);
}

void JsonObject::Note(std::string_view key, const Json& keywords) {
  if (describes()) (*schema_)["properties"][std::string(key)].update(keywords);
}

void JsonObject::Need(std::string_view key) {
  if (describes()) (*schema_)["required"].push_back(key);
}

void JsonObject::NeededUnless(std::string_view key, std::string_view other, const Json& value) {
  if (!describes()) return;
  Json& required = (*schema_)["required"];
  required.erase(std::remove(required.begin(), required.end(), Json(key)), required.end());
  if (required.empty()) schema_->erase("required");
  const Json there = {{"required", {key}}};
  const Json excused = {{"required", {other}}, {"properties", {{other, {{"const", value}}}}}};
  const Json either = {{"anyOf", {there, excused}}};
  (*schema_)["allOf"].push_back(either);
}

void JsonObject::AlsoTakes(std::string_view type) {
  if (describes()) (*schema_)["type"] = {"object", type};
}

void JsonObject::Finish() const {
  if (describes()) {
    for (const std::string& name : known_)  // what was asked for and not described
      if (!(*schema_)["properties"].contains(name)) (*schema_)["properties"][name] = true;
    (*schema_)["additionalProperties"] = false;
    return;
  }
  std::string known;
  std::vector<std::string> absent;
  for (const std::string& name : known_) {
    known += (known.empty() ? "" : ", ") + name;
    if (!value_.contains(name)) absent.push_back(name);
  }
  for (const auto& [key, value] : value_.items()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    std::string hint = DidYouMean(key, absent);
    // A setting may stand beside the very key that it was meant for.
    if (hint.empty()) hint = DidYouMean(key, known_, 2);
    internal::Try(problems_, [&] {
      throw Error(Format("{}: unknown key{}; known here: {}", at(key), hint, known));
    });
  }
}

}  // namespace tessera::internal
