#include "serve/mapped_tensors.h"

#include <algorithm>

#include "runtime/base/checksums.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/mapping_faults.h"
#include "runtime/files/safetensors.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {
namespace {

constexpr int64_t kAddresses = int64_t{1} << 47;  // of a process

}  // namespace

MappedTensors::MappedTensors(const std::string& path, bool writable) : path_(path) {
  const SafetensorsFile file(path);
  metadata_ = file.metadata();
  if (file.entries().empty()) return;
  tensors_begin_ = file.entries().begin()->second.begin;
  for (const auto& [name, entry] : file.entries()) {
    tensors_begin_ = std::min(tensors_begin_, entry.begin);
    bytes_ = std::max(bytes_, entry.begin + entry.nbytes());
  }
  // The header was read by its name before. A file that was renamed over it in between has another
  // size or header, and is refused by the checks below.
  const MappedFile mapped(path, /*watched=*/writable);
  if (writable) file_ = std::make_shared<const PrivateFile>(path);
  TESSERA_CHECK(mapped.bytes() == bytes_ && (file_ == nullptr || file_->bytes() == bytes_),
                "{}: it changed while it was opened", path);
  begin_ = mapped.data();
  for (const auto& [name, entry] : file.entries()) {
    TESSERA_CHECK_EQ(entry.begin % SizeOf(entry.dtype), 0, "{}: tensor '{}': where it begins", path,
                     name);
    tensors_.emplace(name, Tensor::Borrow(const_cast<char*>(begin_) + entry.begin, entry.shape,
                                          entry.dtype, mapped.owner()));
  }
}

Tensor MappedTensors::At(const std::string& name, DType dtype, const Shape& shape) const {
  const auto found = tensors_.find(name);
  TESSERA_CHECK(found != tensors_.end(), "{}: tensor '{}' is missing", path_, name);
  TESSERA_CHECK_EQ(found->second.dtype(), dtype, "{}: tensor '{}'", path_, name);
  TESSERA_CHECK_EQ(found->second.shape(), shape, "{}: tensor '{}'", path_, name);
  return found->second;
}

Tensor MappedTensors::Writable(const std::string& name, DType dtype, const Shape& shape,
                               int64_t rows) const {
  const Tensor tensor = At(name, dtype, shape);
  TESSERA_DCHECK(file_ != nullptr && rows >= shape[0]);
  if (rows == 0) return tensor;
  Shape reserved = shape;
  reserved[0] = 1;
  const int64_t row_bytes = reserved.numel() * SizeOf(dtype);
  if (row_bytes > 0 && rows > kAddresses / row_bytes)
    throw Error(Format("{}: tensor '{}': no address space for {} rows of {} bytes", path_, name,
                       rows, row_bytes));
  reserved[0] = rows;
  const int64_t offset = static_cast<const char*>(tensor.raw_data()) - begin_;
  const std::shared_ptr<void> memory = file_->Map(offset, tensor.nbytes(), rows * row_bytes);
  return Tensor::Borrow(memory.get(), reserved, dtype, memory);
}

std::string MappedTensors::Metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? "" : found->second;
}

void MappedTensors::CheckNotCut() const { CheckMapping(begin_); }

// The tensors fill the file from the first one on.
bool MappedTensors::IsIntact(int threads) const {
  const uint32_t crc = ParallelCrc32(begin_ + tensors_begin_, bytes_ - tensors_begin_, threads);
  return Metadata(CheckpointChecksum().key) == std::to_string(crc);
}

}  // namespace tessera::serve
