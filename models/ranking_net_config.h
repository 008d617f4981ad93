#ifndef TESSERA_MODELS_RANKING_NET_CONFIG_H_
#define TESSERA_MODELS_RANKING_NET_CONFIG_H_
// The type and sizes of a ranking model, as plain data.
//
//   dlrm             dense_in, dense_arch, over_arch
//   dlrm_dcn         the same, dcn_layers, dcn_low_rank
//   dlrm_projection  the same as dlrm, branch1, branch2
//   deepfm           dense_in, hidden, deep_fm_dim
//
// Any of them may have weighted, or position_weights.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera {

enum class RankingModelType { kDlrm, kDlrmDcn, kDlrmProjection, kDeepFm };
std::string ToString(RankingModelType type);  // "dlrm", "dlrm_dcn", "dlrm_projection", "deepfm"

struct RankingNetConfig {
  RankingModelType type = RankingModelType::kDlrm;
  int64_t dense_in = 0;  // dense features
  // Sizes of the lower MLP, the last of which is D, the dim of every table, and of the upper, whose
  // last is 1.
  std::vector<int64_t> dense_arch = {}, over_arch = {};
  int64_t dcn_layers = 0, dcn_low_rank = 0;
  std::vector<int64_t> branch1 = {}, branch2 = {};  // sizes; the last ones are multiples of D
  int64_t hidden = 0, deep_fm_dim = 0;  // of the dense part's first layer, of the deep part
  // Ids come with weights, by which their rows are multiplied before they are pooled. Not beside
  // position_weights, which would take their place.
  bool weighted = false;
  // Longest bag by feature: its bags have at most so many ids, and the id at each position has a
  // learned weight (embedding/position_weighted.h). Ids of other features weigh 1.
  std::map<std::string, int64_t> position_weights = {};
};

// Throws Error for a size that is missing, not above 0, or of another type of model.
void CheckRankingNetConfig(const RankingNetConfig& config);

}  // namespace tessera
#endif  // TESSERA_MODELS_RANKING_NET_CONFIG_H_
