// Kind `checkpoint`: a state_dict that PyTorch wrote.
#include <filesystem>

#include "runtime/files/safetensors.h"
#include "tests/conformance/dense_modules.h"
#include "tests/conformance/embedding_case.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {

Answer RunCheckpoint(Context& ctx, const Case& c) {
  RankingModel model(ctx, ReadRankingModel(c));
  const std::filesystem::path folder = std::filesystem::path(c.path).parent_path();
  const Safetensors file =
      ReadSafetensors(ctx, (folder / c.attrs.at("file").get<std::string>()).string());
  const std::string prefix = c.attrs.at("key_prefix").get<std::string>();
  const std::vector<NamedTensor> tensors = WithPrefix(file.tensors, prefix);
  TESSERA_CHECK_EQ(tensors.size(), file.tensors.size(), "checkpoint: names that begin with '{}'",
                   prefix);
  model.LoadStateDict(ctx, tensors);
  Answer answer;
  answer.tensors["logits"] =
      TorchRecOutputs(ctx, model, c.input("dense"), ReadKjt(c, "kjt", /*weights_grad=*/false))
          .value();
  return answer;
}

}  // namespace tessera::conformance
