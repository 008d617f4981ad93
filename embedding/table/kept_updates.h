#ifndef TESSERA_EMBEDDING_TABLE_KEPT_UPDATES_H_
#define TESSERA_EMBEDDING_TABLE_KEPT_UPDATES_H_
// Gradient accumulation. A step may be made of several micro-batches, each with a forward and a
// backward of its own. Backward keeps what it would have updated the tables with; that of the last
// joins all into the update of the one batch that they are together. Rules, sweeps and step
// counters see that one batch, so the bits are its bits.
#include <span>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/table/output_layout.h"
#include "runtime/context.h"

namespace tessera::internal {

// The bags of all `parts`, those of each key and rank in the order of the parts, with their
// gradients: what one batch, in which each rank has all its micro-batches, would have brought.
// Waits for a device. Throws Error for parts of other keys or numbers of ranks, and for a batch for
// all keys beside a batch for each. REQUIRES: no inverse indices; `features` as of the parts' KJTs.
UpdateBatch JoinUpdates(Context& ctx, std::span<const FeatureShape> features,
                        std::span<const UpdateBatch> parts);

// State of a step that accumulates forwards.
class KeptUpdates {
 public:
  // The next `forwards` forwards are one step. What was kept of an unfinished one is forgotten.
  void Begin(int forwards) { *this = KeptUpdates(forwards); }

  // Whether updates are kept: not if each forward is a step.
  bool accumulates() const { return forwards_ > 1; }
  // Counts a forward; whether it is the first of its step. Throws Error for one more than the step
  // has.
  bool BeginForward();
  // Keeps the update of one micro-batch; all of the step, if this was the last.
  std::vector<UpdateBatch> Keep(UpdateBatch update);

  KeptUpdates() = default;

 private:
  explicit KeptUpdates(int forwards);

  int forwards_ = 1, begun_ = 0;
  std::vector<UpdateBatch> kept_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_KEPT_UPDATES_H_
