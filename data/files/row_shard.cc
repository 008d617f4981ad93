#include "data/files/row_shard.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/files.h"
#include "runtime/files/unfinished_paths.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string ChecksumsOf(const Tensor& tensor) {
  Checksums checksums;
  checksums.Add(tensor.raw_data(), tensor.nbytes());
  return checksums.Finish();
}

std::string Prefix(int number) { return Format(".new-{}-", number); }

// Whether a file may be a shard that this writer, or one before it, has made.
bool IsShardName(const std::string& name) {
  std::string_view usual = name;
  if (usual.starts_with(".new-"))
    usual.remove_prefix(std::min(usual.find('-', std::string_view(".new-").size()), usual.size()));
  if (usual.starts_with('-')) usual.remove_prefix(1);
  return IsRowShardName(usual);
}

void RemoveShards(const std::string& folder,
                  const std::function<bool(const std::string& name)>& which) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    const std::string name = file.path().filename().string();
    if (IsShardName(name) && which(name)) paths.push_back(file.path().string());
  }
  for (const std::string& path : paths) fs::remove(path, error);
}

std::set<std::string> NamesIn(const RowFolderIndex& index) {
  std::set<std::string> names;
  for (const RowShard& shard : index.shards) names.insert(shard.file);
  return names;
}

// Whether the folder's index names these shards, or cannot be read: it may be there although the
// call that wrote it has failed.
bool IndexIs(const std::string& folder, const RowFolderIndex& index) {
  try {
    return NamesIn(ReadRowFolderIndex(folder)) == NamesIn(index);
  } catch (const Error&) {
    return true;
  }
}

bool HasFileOf(const std::string& folder, const std::string& prefix) {
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error))
    if (file.path().filename().string().starts_with(prefix)) return true;
  return false;
}

}  // namespace

RowFolderOutput::RowFolderOutput(const std::string& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(Format("{}: cannot be made: {}", folder, error.message()));
  if (!HasRowFolderIndex(folder)) {
    RemoveAllBut({});
    return;
  }
  try {
    RemoveAllBut(ReadRowFolderIndex(folder));
  } catch (const Error&) {  // an index that cannot be read: all shards stay until the commit
  }
  int number = 1;
  while (HasFileOf(folder, Prefix(number))) ++number;
  prefix_ = Prefix(number);
}

RowFolderOutput::~RowFolderOutput() {
  if (prefix_.empty() || committed_) return;
  std::error_code ignored;
  for (const RowShard& shard : index_.shards) {
    fs::remove(PathOf(shard), ignored);
    internal::DropUnfinished(PathOf(shard));
  }
}

std::string RowFolderOutput::PathOf(const RowShard& shard) const {
  return PathIn(folder_, prefix_ + shard.file);
}

void RowFolderOutput::RemoveAllBut(const RowFolderIndex& named) const {
  RemoveShards(folder_, [names = NamesIn(named)](const std::string& name) {
    return names.count(name) == 0;
  });
}

void RowFolderOutput::WriteShard(Context& ctx, int64_t rows,
                                 std::map<std::string, Tensor> tensors) {
  RowShard shard{.file = RowShardName(index_.shards.size()), .rows = rows};
  for (const auto& [name, tensor] : tensors) shard.checksums[name] = ChecksumsOf(tensor);
  const std::string path = PathOf(shard);
  if (!prefix_.empty()) internal::AddUnfinished(path);
  index_.rows += rows;
  index_.shards.push_back(std::move(shard));
  WriteSafetensors(ctx, path, {.tensors = std::move(tensors), .metadata = {}});
}

void RowFolderOutput::Commit() {
  RowFolderIndex first = index_;
  for (RowShard& shard : first.shards) {
    internal::DropUnfinished(PathOf(shard));
    shard.file = prefix_ + shard.file;
  }
  try {
    WriteRowFolderIndex(folder_, first);
  } catch (const Error&) {
    committed_ = IndexIs(folder_, first);
    throw;
  }
  committed_ = true;
  RemoveAllBut(first);
  if (!prefix_.empty()) TakeUsualNames();
}

void RowFolderOutput::TakeUsualNames() {
  std::error_code error;
  for (const RowShard& shard : index_.shards)
    if (!error) fs::create_hard_link(PathOf(shard), PathIn(folder_, shard.file), error);
  try {
    if (!error) SyncFolder(folder_);
    if (!error) WriteRowFolderIndex(folder_, index_);
  } catch (const Error&) {
    error = std::make_error_code(std::errc::io_error);
  }
  if (error && IndexIs(folder_, index_)) return;  // nobody knows which index lasts: both names stay
  for (const RowShard& shard : index_.shards) {
    std::error_code ignored;
    fs::remove(error ? PathIn(folder_, shard.file) : PathOf(shard), ignored);
  }
}

// ---- mapped

MappedRowShard::MappedRowShard(const std::string& folder, const RowShard& shard)
    : shard_(shard),
      content_(PathOfNamed(folder, shard.file)),
      file_(std::make_shared<const MappedFile>(PathIn(folder, shard.file))) {}

StoredColumns MappedRowShard::Columns(const std::string& tensor) const {
  const auto found = content_.entries().find(tensor);
  if (found == content_.entries().end())
    throw Error(Format("{}: tensor '{}' is missing", path(), tensor));
  const SafetensorsEntry& entry = found->second;
  const auto checksums = shard_.checksums.find(tensor);
  if (checksums == shard_.checksums.end() ||
      std::ssize(checksums->second) != ChecksumDigits(entry.nbytes()))
    throw Error(Format("{}: tensor '{}': the index has no checksums of {} bytes", path(), tensor,
                       entry.nbytes()));
  TESSERA_CHECK_LE(entry.begin + entry.nbytes(), file_->bytes(), "{}: bytes", path());
  const char* const data = file_->data() + entry.begin;
  return {Tensor::Borrow(const_cast<char*>(data), entry.shape, entry.dtype, file_->owner()),
          std::make_shared<CheckedBytes>(data, entry.nbytes(), checksums->second,
                                         Format("{}: tensor '{}'", path(), tensor))};
}

StoredColumns MappedRowShard::Columns(const std::string& tensor, DType dtype,
                                      const Shape& shape) const {
  StoredColumns columns = Columns(tensor);
  if (columns.tensor.dtype() != dtype || columns.tensor.shape() != shape)
    throw Error(Format("{}: tensor '{}': expected {} of {}, got {} of {}", path(), tensor, shape,
                       dtype, columns.tensor.shape(), columns.tensor.dtype()));
  return columns;
}

}  // namespace tessera
