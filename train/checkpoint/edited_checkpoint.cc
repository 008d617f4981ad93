#include "train/checkpoint/edited_checkpoint.h"

#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace tessera {

EditedCheckpoint::EditedCheckpoint(Checkpoint saved)
    : saved_(std::make_shared<const Checkpoint>(std::move(saved))) {
  for (const CheckpointEntry& entry : saved_->tensors)
    Add(entry.name, entry.tensor.dtype, entry.tensor.shape,
        [from = saved_, entry](int64_t begin, int64_t count, char* out) {
          from->read_bytes(entry, begin, count, out);
        });
}

const EditedCheckpoint::Entry& EditedCheckpoint::At(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error(Format("{}: '{}' is missing", path(), name));
  return found->second;
}

void EditedCheckpoint::Add(const std::string& name, DType dtype, const Shape& shape,
                           ReadBytes read) {
  entries_.insert_or_assign(name, Entry{dtype, shape, std::move(read)});
}

void EditedCheckpoint::Add(const std::string& name, const Tensor& tensor) {
  Add(name, tensor.dtype(), tensor.shape(), [tensor](int64_t begin, int64_t count, char* out) {
    std::memcpy(out, static_cast<const char*>(tensor.raw_data()) + begin,
                static_cast<size_t>(count));
  });
}

std::vector<int64_t> EditedCheckpoint::Take(const std::string& name) {
  const Entry entry = At(name);
  if (entry.dtype != DType::kI64)
    throw Error(Format("{}: '{}': expected i64, got {}", path(), name, entry.dtype));
  std::vector<int64_t> numbers(static_cast<size_t>(entry.shape.numel()));
  entry.read(0, std::ssize(numbers) * SizeOf(entry.dtype), reinterpret_cast<char*>(numbers.data()));
  entries_.erase(name);
  return numbers;
}

std::map<std::string, EditedCheckpoint::Entry> EditedCheckpoint::Matching(
    const std::string& prefix) const {
  std::map<std::string, Entry> found;
  for (auto at = entries_.lower_bound(prefix);
       at != entries_.end() && at->first.starts_with(prefix); ++at)
    found.insert(*at);
  return found;
}

void EditedCheckpoint::Remove(const std::string& prefix) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

Checkpoint EditedCheckpoint::Finish() && {
  Checkpoint checkpoint = *saved_;
  checkpoint.file = nullptr;
  checkpoint.tensors.clear();
  for (const auto& [name, entry] : entries_)
    checkpoint.tensors.push_back({name, {entry.dtype, entry.shape}});
  const auto entries = std::make_shared<const std::map<std::string, Entry>>(std::move(entries_));
  checkpoint.read_bytes = [entries](const CheckpointEntry& entry, int64_t offset, int64_t count,
                                    void* out) {
    entries->at(entry.name).read(offset, count, static_cast<char*>(out));
  };
  return checkpoint;
}

}  // namespace tessera
