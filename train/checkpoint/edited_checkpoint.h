#ifndef TESSERA_TRAIN_CHECKPOINT_EDITED_CHECKPOINT_H_
#define TESSERA_TRAIN_CHECKPOINT_EDITED_CHECKPOINT_H_
// A checkpoint whose tensors are added, replaced and removed by name. Bytes are read, or made, only
// when the result is read, so that tables need not fit in memory.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {

class EditedCheckpoint {
 public:
  // Writes bytes [begin, begin + count) of a tensor to `out`.
  using ReadBytes = std::function<void(int64_t begin, int64_t count, char* out)>;
  struct Entry {
    DType dtype;
    Shape shape;
    ReadBytes read;
  };

  explicit EditedCheckpoint(Checkpoint saved);

  const std::string& path() const { return saved_->path; }
  bool Has(const std::string& name) const { return entries_.contains(name); }
  // Throws Error for a tensor that is not there.
  const Entry& At(const std::string& name) const;
  // Both replace a tensor of that name.
  void Add(const std::string& name, DType dtype, const Shape& shape, ReadBytes read);
  void Add(const std::string& name, const Tensor& tensor);
  // Removes a tensor and returns its numbers. Throws Error for one that is not there or not i64.
  std::vector<int64_t> Take(const std::string& name);
  // Returns copies of the entries whose names begin so.
  std::map<std::string, Entry> Matching(const std::string& prefix) const;
  // Removes all tensors whose names begin so.
  void Remove(const std::string& prefix);

  Checkpoint Finish() &&;

 private:
  std::shared_ptr<const Checkpoint> saved_;
  std::map<std::string, Entry> entries_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_EDITED_CHECKPOINT_H_
