#ifndef TESSERA_EMBEDDING_PRECOMPUTED_FORWARD_H_
#define TESSERA_EMBEDDING_PRECOMPUTED_FORWARD_H_
// A forward of a collection that was begun before the model comes to it: the result for one batch,
// given beforehand. So models need not know that ids travel, or rows are looked up, ahead of them
// (train/pipeline).
#include <functional>
#include <utility>

#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// Output: what the collection's forward gives.
template <typename Output>
class PrecomputedForward {
 public:
  using Answer = std::function<Output(Context&)>;

  // The next forward of `features` (the same tensor of ids) is `answer`, instead of what the
  // collection does by itself; it may itself call Forward.
  void Set(const KeyedJaggedTensor& features, Answer answer) {
    ids_ = features.values();
    answer_ = std::move(answer);
  }
  void Clear() {
    ids_ = {};
    answer_ = nullptr;
  }
  // Whether an answer waits for its forward.
  bool waits() const { return answer_ != nullptr; }

  // For collections: the answer, which is gone then; null for other features.
  Answer Take(const KeyedJaggedTensor& features) {
    const Tensor& ids = features.values();
    if (!waits() || ids.raw_data() != ids_.raw_data() || ids.shape() != ids_.shape())
      return nullptr;
    ids_ = {};
    return std::exchange(answer_, nullptr);
  }

 private:
  Tensor ids_;
  Answer answer_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_PRECOMPUTED_FORWARD_H_
