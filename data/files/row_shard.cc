#include "data/files/row_shard.h"

#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/files.h"

namespace tessera {
namespace {

std::string ChecksumsOf(const Tensor& tensor) {
  Checksums checksums;
  checksums.Add(tensor.raw_data(), tensor.nbytes());
  return checksums.Finish();
}

}  // namespace

void WriteRowShard(Context& ctx, const std::string& folder, int64_t rows,
                   std::map<std::string, Tensor> tensors, RowFolderIndex& index) {
  RowShard shard{.file = RowShardName(index.shards.size()), .rows = rows};
  for (const auto& [name, tensor] : tensors) shard.checksums[name] = ChecksumsOf(tensor);
  WriteSafetensors(ctx, PathIn(folder, shard.file),
                   {.tensors = std::move(tensors), .metadata = {}});
  index.rows += rows;
  index.shards.push_back(std::move(shard));
}

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
