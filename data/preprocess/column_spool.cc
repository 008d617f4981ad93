#include "data/preprocess/column_spool.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera {
namespace {

[[noreturn]] void ThrowUnwritable(const std::string& path) {
  throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
}

template <typename T>
std::span<const T> ElementsOf(const MappedFile& file) {
  return {reinterpret_cast<const T*>(file.data()), static_cast<size_t>(file.bytes()) / sizeof(T)};
}

}  // namespace

ColumnSpool::ColumnSpool(const std::string& folder, int64_t dense_columns, int64_t id_columns)
    : folder_(folder), dense_columns_(dense_columns) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  internal::AddUnfinished(folder, internal::Unfinished::kFolderWithContent);
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(Format("{}: cannot be made: {}", folder, error.message()));
  labels_ = NewColumn("labels");
  dense_ = NewColumn("dense");
  for (int64_t i = 0; i < id_columns; ++i) ids_.push_back(NewColumn(Format("ids-{}", i)));
}

ColumnSpool::~ColumnSpool() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  internal::DropUnfinished(folder_);
}

ColumnSpool::Column ColumnSpool::NewColumn(const std::string& name) const {
  Column column;
  column.path = PathIn(folder_, name);
  column.file.reset(std::fopen(column.path.c_str(), "wb"));
  if (column.file == nullptr) ThrowUnwritable(column.path);
  constexpr size_t kBuffer = 1 << 16;
  std::setvbuf(column.file.get(), nullptr, _IOFBF, kBuffer);
  return column;
}

void ColumnSpool::Write(Column& column, const void* bytes, size_t count) {
  if (std::fwrite(bytes, 1, count, column.file.get()) != count) ThrowUnwritable(column.path);
}

void ColumnSpool::Append(const RawRow& row) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(row.dense.size()), dense_columns_, "numbers of a row");
  TESSERA_CHECK_EQ(row.ids.size(), ids_.size(), "ids of a row");
  Write(labels_, &row.label, sizeof(float));
  Write(dense_, row.dense.data(), row.dense.size() * sizeof(double));
  for (size_t i = 0; i < ids_.size(); ++i) Write(ids_[i], &row.ids[i], sizeof(int64_t));
  ++rows_;
}

void ColumnSpool::Map(Column& column) {
  if (std::fflush(column.file.get()) != 0) ThrowUnwritable(column.path);
  column.file.reset();
  column.map.emplace(column.path);
}

void ColumnSpool::Close() {
  Map(labels_);
  Map(dense_);
  for (Column& column : ids_) Map(column);
}

float ColumnSpool::label(int64_t row) const {
  return ElementsOf<float>(*labels_.map)[static_cast<size_t>(row)];
}

std::span<const double> ColumnSpool::dense(int64_t row) const {
  const auto columns = static_cast<size_t>(dense_columns_);
  return ElementsOf<double>(*dense_.map).subspan(static_cast<size_t>(row) * columns, columns);
}

std::span<const int64_t> ColumnSpool::ids(int64_t column) const {
  return ElementsOf<int64_t>(*ids_[static_cast<size_t>(column)].map);
}

std::span<int64_t> ColumnSpool::NewIds(int64_t column) {
  const std::string path = PathIn(folder_, Format("new-ids-{}", column));
  new_ids_ = MappedFile::Create(path, rows_ * int64_t{sizeof(int64_t)});
  return new_ids_->Writable<int64_t>();
}

void ColumnSpool::UseNewIds(int64_t column) {
  Column& old = ids_[static_cast<size_t>(column)];
  old.map = std::move(new_ids_);
  new_ids_.reset();
  std::remove(old.path.c_str());
}

}  // namespace tessera
