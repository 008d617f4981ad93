#ifndef TESSERA_EMBEDDING_PRECOMPUTED_FORWARD_H_
#define TESSERA_EMBEDDING_PRECOMPUTED_FORWARD_H_
// A forward of a collection that was begun before the model comes to it: the result for one batch,
// given beforehand. So models need not know that ids travel, or rows are looked up, ahead of them
// (train/pipeline).
#include <functional>
#include <optional>
#include <utility>

#include "runtime/context.h"
#include "sparse/keyed_jagged_tensor.h"
#include "sparse/same_features.h"

namespace tessera {

// Whether a forward on a context takes the result, or computes its own and leaves it for another.
using TakesPrecomputed = std::function<bool(const Context&)>;

// Output: what the collection's forward gives.
template <typename Output>
class PrecomputedForward {
 public:
  using Answer = std::function<Output(Context&)>;

  // The next forward of `features` (SameFeatures) that `takes` it is `answer`, instead of what the
  // collection does by itself; it may itself call Forward.
  void Set(const KeyedJaggedTensor& features, Answer answer, TakesPrecomputed takes) {
    features_ = features;
    answer_ = std::move(answer);
    takes_ = std::move(takes);
  }
  void Clear() {
    features_.reset();
    answer_ = nullptr;
    takes_ = nullptr;
  }
  // Whether an answer waits for its forward.
  bool waits() const { return answer_ != nullptr; }

  // For collections: the answer, which is gone then; null for other features. weighted: whether the
  // result depends on weights of ids.
  Answer Take(const Context& ctx, const KeyedJaggedTensor& features, bool weighted) {
    if (!waits() || !SameFeatures(features, *features_, weighted) || !takes_(ctx)) return nullptr;
    Answer answer = std::move(answer_);
    Clear();
    return answer;
  }

 private:
  std::optional<KeyedJaggedTensor> features_;
  Answer answer_;
  TakesPrecomputed takes_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_PRECOMPUTED_FORWARD_H_
