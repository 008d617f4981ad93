#ifndef TESSERA_MODELS_ATTENDED_NET_H_
#define TESSERA_MODELS_ATTENDED_NET_H_
// A ranking net behind sequences that are pooled by attention, as in Deep Interest Network (Zhou et
// al., KDD 2018). For each row k of a sequence and the row q of its target,
//
//   score = MLP([q, k, q − k, q·k])      pooled = Σ score·k
//
// where the MLP has ReLU after its hidden layers, and scores are not normalized: strong interest
// stays strong. A position without an id has the row 0, and adds nothing.
//
// Parameters: "attention.<sequence>." with the names of OverArch, then those of the net.
#include <memory>
#include <string>
#include <vector>

#include "models/layers/over_arch.h"
#include "models/ranking_net.h"
#include "runtime/context.h"

namespace tessera {

class AttendedNet final : public RankingNet {
 public:
  // Throws Error for a sequence or target that not exactly one table reads, a sequence of another
  // dim than its target's, and as MakeRankingNet.
  AttendedNet(Context& ctx, const RankingNetConfig& config,
              const std::vector<PooledFeature>& features);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const override;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  // Scores the rows of a sequence; `sequence` and `target` are numbers of features.
  struct Attention {
    std::string name;
    size_t sequence, target;
    OverArch score;
  };
  // rows [B, positions·D], target [B, D] -> [B, D].
  static Variable Pool(Context& ctx, const Attention& attention, const Variable& rows,
                       const Variable& target);

  std::vector<int64_t> columns_;  // of each feature
  std::vector<Attention> attention_;
  std::unique_ptr<RankingNet> net_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_ATTENDED_NET_H_
