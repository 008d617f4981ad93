#include "data/schema/data_schema.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {

std::string ToString(RowFormat format) {
  static constexpr const char* kNames[] = {"jsonl", "csv", "tsv", "npz"};
  return kNames[static_cast<size_t>(format)];
}

std::string ToString(IdKind kind) {
  static constexpr const char* kNames[] = {"int", "hex", "text", "vocabulary", "boundaries"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<int64_t> FeatureEntry::RowsNeeded() const {
  const int64_t shift = missing == MissingFeature::kRow0 ? 1 : 0;
  if (ids == IdKind::kVocabulary) return std::ssize(vocabulary) + 1 + shift;
  if (ids == IdKind::kBoundaries) return std::ssize(boundaries) + 1 + shift;
  return std::nullopt;
}

int64_t DataSchema::dense_size() const {
  int64_t size = 0;
  for (const DenseEntry& entry : dense) size += entry.size;
  return size;
}

FeatureEntry DataSchema::Feature(const std::string& name) const {
  for (const FeatureEntry& entry : features)
    if (entry.name == name) return entry;
  return {.name = name, .from = name};
}

void DataSchema::CheckFeaturesRead(const std::vector<std::string>& read) const {
  for (const FeatureEntry& entry : features)
    if (std::find(read.begin(), read.end(), entry.name) == read.end())
      throw Error(Format("data.features: feature '{}' is read by no table", entry.name));
}

}  // namespace tessera
