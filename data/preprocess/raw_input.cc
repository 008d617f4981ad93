#include "data/preprocess/raw_input.h"

#include <filesystem>
#include <limits>

#include "data/files/criteo_stream.h"
#include "data/files/data_files.h"
#include "runtime/base/names.h"

namespace tessera {
namespace {

constexpr const char* kMissingNames[] = {"own", "zero"};

class TextInput final : public RawInput {
 public:
  TextInput(const std::string& path, MissingValues missing, bool skip_bad_lines)
      : stream_({{path}, skip_bad_lines}), shift_(missing == MissingValues::kOwn ? 1 : 0) {}

  bool Next(RawRow& row) override {
    const bool more = stream_.Next(click_);
    skipped_ = stream_.SkippedBefore(more ? stream_.next_row() : RowRange::kEnd);
    if (!more) return false;
    row.label = click_.label;
    row.dense.assign(std::begin(click_.integers), std::end(click_.integers));
    row.ids.clear();
    for (int i = 0; i < ClickRow::kCategories; ++i) row.ids.push_back(Id(i));
    return true;
  }
  std::optional<double> fraction() const override { return stream_.fraction(); }
  std::string where() const override { return stream_.where(); }
  int64_t skipped_rows() const override { return skipped_; }
  bool is_text() const override { return true; }
  int64_t dense_columns() const override { return ClickRow::kIntegers; }
  std::vector<std::string> id_columns() const override {
    std::vector<std::string> names;
    for (int i = 0; i < ClickRow::kCategories; ++i) names.push_back(CategoryName(i));
    return names;
  }

 private:
  int64_t Id(int column) const {
    if (!click_.has_category(column)) return 0;
    const uint64_t value = click_.categories[column];
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (value > kMax - shift_)
      throw Error(Format("{}: category {}: expected a value below 7fffffffffffffff, got {:x}",
                         where(), column + 1, value));
    return static_cast<int64_t>(value + shift_);
  }

  CriteoStream stream_;
  uint64_t shift_;
  ClickRow click_;
  int64_t skipped_ = 0;
};

class StoredInput final : public RawInput {
 public:
  StoredInput(const std::string& path, StoredParts parts) : path_(path), parts_(std::move(parts)) {}

  bool Next(RawRow& row) override {
    if (next_ == parts_.rows()) return false;
    const auto [part, at] = parts_.Find(next_++);
    const auto* const dense = reinterpret_cast<const float*>(part->dense.Row(at));
    const char* const ids = part->ids.Row(at);
    row.label = StoredParts::Label(*part, at);
    row.dense.assign(dense, dense + dense_columns());
    row.ids.clear();
    for (size_t f = 0; f < parts_.id_columns().size(); ++f)
      row.ids.push_back(StoredParts::Id(*part, ids, static_cast<int64_t>(f)));
    return true;
  }
  std::optional<double> fraction() const override {
    return static_cast<double>(next_) / static_cast<double>(parts_.rows());
  }
  std::string where() const override { return Format("{}: row {}", path_, next_ - 1); }
  bool is_text() const override { return false; }
  int64_t dense_columns() const override { return parts_.dense_columns(); }
  std::vector<std::string> id_columns() const override { return parts_.id_columns(); }

 private:
  std::string path_;
  StoredParts parts_;
  int64_t next_ = 0;
};

}  // namespace

std::string ToString(MissingValues missing) { return kMissingNames[static_cast<size_t>(missing)]; }

MissingValues ParseMissingValues(const std::string& name) {
  return internal::ParseName<MissingValues>(name, "missing values", kMissingNames);
}

std::unique_ptr<RawInput> OpenRawInput(const std::string& path, MissingValues missing,
                                       bool skip_bad_lines) {
  if (LayoutOfFile(path) == FileLayout::kText)
    return std::make_unique<TextInput>(path, missing, skip_bad_lines);
  return std::make_unique<StoredInput>(path, MapStoredFiles({path}));
}

std::string InputName(const std::string& path) {
  std::string name = std::filesystem::path(path).lexically_normal().filename().string();
  if (name.empty()) name = std::filesystem::path(path).parent_path().filename().string();
  for (const std::string end : {".gz", ".tsv", ".txt", "_dense.npy", "_sparse.npy", "_labels.npy"})
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  return name;
}

}  // namespace tessera
