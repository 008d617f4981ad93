#ifndef TESSERA_MODELS_ITEM_FREQUENCIES_H_
#define TESSERA_MODELS_ITEM_FREQUENCIES_H_
// How often each item comes in the batches of a training, estimated as they come (Yi et al., RecSys
// 2019, algorithm 2): so that a softmax over the candidates of a batch, where popular items are
// negatives more often than others, can be corrected by the log of that.
//
// An item's hash names a slot, which has the last step A that the item came in, and an estimate B
// of the steps between two occurrences. At step t, where it comes n times,
//
//   B ← (1 − alpha)·B + alpha·(t − A)/n,  A ← t;  at first B ← t/n
//
// and 1/B is how often it comes in a step. The paper has n = 1; so an item that comes in every
// batch is told from one that comes ten times in each. Equal batches give equal bits.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/ranking_net_config.h"
#include "runtime/context.h"
#include "runtime/tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// The item of each example, [B] in host memory: a hash of its ids under these features, in order.
// On a GPU the host waits.
std::vector<int64_t> ItemsOf(Context& ctx, const KeyedJaggedTensor& features,
                             const std::vector<std::string>& names);

class ItemFrequencies {
 public:
  explicit ItemFrequencies(const SamplingCorrection& options);

  // The log of 1/B of each item after step `step`, which they are all the items of. Nothing is
  // learned before Commit. REQUIRES: steps that grow, from 1 on.
  std::vector<float> Observe(std::span<const int64_t> items, int64_t step);
  // Keeps what the last Observe has come to.
  void Commit();

  // State by name, in host memory; shares memory.
  std::map<std::string, Tensor> State() const { return {{kLast, last_}, {kGap, gap_}}; }
  // Both throw Error, and change nothing, for another state than of so many slots.
  void CheckState(const std::map<std::string, Tensor>& state) const;
  void LoadState(const std::map<std::string, Tensor>& state);

 private:
  static constexpr char kLast[] = "last_step", kGap[] = "gap";
  struct Seen {
    int64_t slot, last;
    float gap;
  };
  float GapAfter(int64_t slot, int64_t step, int64_t times) const;

  SamplingCorrection options_;
  Tensor last_, gap_;  // [slots]: A, 0 where nothing came, and B
  std::vector<Seen> observed_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_ITEM_FREQUENCIES_H_
