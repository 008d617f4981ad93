#include "train/config/model_json.h"

#include "data/click_row.h"
#include "runtime/base/size_limits.h"

namespace tessera::internal {
namespace {

using Type = RankingModelType;

Type ReadType(JsonObject& object) {
  std::string name, known;
  object.Required("type", name);
  for (const Type type : {Type::kDlrm, Type::kDlrmDcn, Type::kDlrmProjection, Type::kDeepFm}) {
    if (name == ToString(type)) return type;
    known += (known.empty() ? "\"" : " or \"") + ToString(type) + "\"";
  }
  ThrowExpected(object.at("type"), known, name);
}

void ReadSize(JsonObject& object, const char* key, int64_t& size) {
  object.Required(key, size);
  CheckPositive(size, SizeLimits::kDim, object.at(key));
}

void ReadSizes(JsonObject& object, const char* key, std::vector<int64_t>& sizes) {
  object.Required(key, sizes);
  if (sizes.empty()) throw Error(Format("{}: expected at least one layer", object.at(key)));
  CheckLayers(sizes, object.at(key));
}

void ReadDenseIn(JsonObject& object, RankingNetConfig& config) {
  config.dense_in = ClickRow::kIntegers;
  object.Optional("dense_in", config.dense_in);
  CheckPositive(config.dense_in, SizeLimits::kDim, object.at("dense_in"));
}

// The last size of a branch is so many times the dim of the tables.
void ReadBranch(JsonObject& object, const char* key, const RankingNetConfig& config,
                std::vector<int64_t>& sizes) {
  ReadSizes(object, key, sizes);
  const int64_t dim = config.dense_arch.back();
  if (sizes.back() % dim != 0)
    throw Error(
        Format("{}: expected a last layer that is a multiple of {}, the last of dense_arch, "
               "got {}",
               object.at(key), dim, sizes.back()));
}

void ReadDlrm(JsonObject& object, RankingNetConfig& config) {
  ReadSizes(object, "dense_arch", config.dense_arch);
  ReadSizes(object, "over_arch", config.over_arch);
  if (config.type == Type::kDlrmDcn) {
    ReadSize(object, "dcn_layers", config.dcn_layers);
    CheckPositive(config.dcn_layers, SizeLimits::kLayers, object.at("dcn_layers"));
    ReadSize(object, "dcn_low_rank", config.dcn_low_rank);
  }
  if (config.type == Type::kDlrmProjection) {
    ReadBranch(object, "branch1", config, config.branch1);
    ReadBranch(object, "branch2", config, config.branch2);
  }
}

void ReadIdWeights(JsonObject& object, RankingNetConfig& config) {
  object.Optional("weighted", config.weighted);
  const Json* json = object.Find("position_weights");
  if (json == nullptr) return;
  if (config.weighted)
    throw Error(Format("{}: beside weighted, the weights that ids come with: expected one of them",
                       object.at("position_weights")));
  const std::string where = object.at("position_weights");
  if (!json->is_object()) ThrowExpected(where, "an object {feature: longest bag, …}", *json);
  for (const auto& [feature, value] : json->items()) {
    const std::string place = Format("{}.{}", where, feature);
    int64_t& length = config.position_weights[feature];
    ReadJson(value, place, length);
    CheckPositive(length, SizeLimits::kDim, place);
  }
}

void CheckOverArch(const std::string& where, const std::vector<int64_t>& over_arch) {
  if (over_arch.size() < 2) throw Error(Format("{}: expected at least two layers", where));
  if (over_arch.back() != 1)
    throw Error(
        Format("{}: expected a last layer of 1, the logit, got {}", where, over_arch.back()));
}

}  // namespace

RankingNetConfig RankingNetFromJson(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  RankingNetConfig config;
  config.type = ReadType(object);
  ReadDenseIn(object, config);
  if (config.type == Type::kDeepFm) {
    ReadSize(object, "hidden", config.hidden);
    ReadSize(object, "deep_fm_dim", config.deep_fm_dim);
  } else {
    ReadDlrm(object, config);
  }
  ReadIdWeights(object, config);
  object.Finish();
  if (config.type != Type::kDeepFm) CheckOverArch(object.at("over_arch"), config.over_arch);
  return config;
}

Json RankingNetToJson(const RankingNetConfig& config) {
  Json json = {{"type", ToString(config.type)}, {"dense_in", config.dense_in}};
  if (config.weighted) json["weighted"] = true;
  if (!config.position_weights.empty()) json["position_weights"] = config.position_weights;
  if (config.type == Type::kDeepFm) {
    json["hidden"] = config.hidden;
    json["deep_fm_dim"] = config.deep_fm_dim;
    return json;
  }
  json["dense_arch"] = config.dense_arch;
  json["over_arch"] = config.over_arch;
  if (config.type == Type::kDlrmDcn) {
    json["dcn_layers"] = config.dcn_layers;
    json["dcn_low_rank"] = config.dcn_low_rank;
  }
  if (config.type == Type::kDlrmProjection) {
    json["branch1"] = config.branch1;
    json["branch2"] = config.branch2;
  }
  return json;
}

}  // namespace tessera::internal
