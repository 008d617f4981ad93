#include "models/ranking_net_config.h"

#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"

namespace tessera {

std::string ToString(RankingModelType type) {
  switch (type) {
    case RankingModelType::kDlrm:
      return "dlrm";
    case RankingModelType::kDlrmDcn:
      return "dlrm_dcn";
    case RankingModelType::kDlrmProjection:
      return "dlrm_projection";
    case RankingModelType::kDeepFm:
      return "deepfm";
  }
  TESSERA_FAIL("unknown type of model {}", static_cast<int>(type));
}

namespace {

void CheckSizes(const RankingNetConfig& config, const char* name, const std::vector<int64_t>& sizes,
                bool wanted) {
  TESSERA_CHECK(sizes.empty() != wanted, "{}: {} of {}: expected {}", ToString(config.type), name,
                sizes.size(), wanted ? "at least one size" : "no such sizes");
  CheckLayers(sizes, Format("{}: {}", ToString(config.type), name));
}

void CheckSize(const RankingNetConfig& config, const char* name, int64_t size, bool wanted) {
  TESSERA_CHECK(wanted ? size > 0 : size == 0, "{}: {}: expected {}, got {}", ToString(config.type),
                name, wanted ? "a number above 0" : "none", size);
  CheckCount(size, SizeLimits::kDim, Format("{}: {}", ToString(config.type), name));
}

}  // namespace

void CheckRankingNetConfig(const RankingNetConfig& config) {
  const bool deepfm = config.type == RankingModelType::kDeepFm,
             dcn = config.type == RankingModelType::kDlrmDcn,
             projection = config.type == RankingModelType::kDlrmProjection;
  CheckSize(config, "dense_in", config.dense_in, true);
  CheckSizes(config, "dense_arch", config.dense_arch, !deepfm);
  CheckSizes(config, "over_arch", config.over_arch, !deepfm);
  CheckSize(config, "dcn_layers", config.dcn_layers, dcn);
  CheckCount(config.dcn_layers, SizeLimits::kLayers, "dcn_layers");
  CheckSize(config, "dcn_low_rank", config.dcn_low_rank, dcn);
  CheckSizes(config, "branch1", config.branch1, projection);
  CheckSizes(config, "branch2", config.branch2, projection);
  CheckSize(config, "hidden", config.hidden, deepfm);
  CheckSize(config, "deep_fm_dim", config.deep_fm_dim, deepfm);
  TESSERA_CHECK(!config.weighted || config.position_weights.empty(),
                "weighted beside position_weights, which would take the place of the weights that "
                "ids come with");
  if (deepfm) return;
  TESSERA_CHECK(config.over_arch.size() >= 2, "{}: over_arch: expected at least two sizes, got {}",
                ToString(config.type), config.over_arch.size());
  TESSERA_CHECK_EQ(config.over_arch.back(), 1, "{}: last size of over_arch", ToString(config.type));
}

}  // namespace tessera
