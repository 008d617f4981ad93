// A training configuration: one that is read is written and read again.
#include "tests/fuzz/fuzz.h"
#include "train/config/train_config.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  const std::string small = R"({
    "tables": [{"name": "a", "rows": 51, "dim": 4, "features": ["cat_0"], "pooling": "MEAN", "dtype": "f16",
                "init_range": [-0.5, 0.5], "optimizer": {"name": "adam", "lr": 0.01}},
               {"name": "b", "rows": 51, "dim": 4, "features": ["cat_1", "cat_2"],
                "location": "MANAGED_CACHING", "cache": {"policy": "LRU", "ways": 32}}],
    "model": {"type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [16, 1]},
    "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1}, "dense": {"name": "adam", "lr": 0.01},
                  "warmup": [{"policy": "linear", "max_iters": 100, "value": 0.1}],
                  "gradient_clipping": {"mode": "norm", "max_gradient": 1, "norm_type": "inf"}},
    "data": {"format": "planted", "rows": 5000, "eval_rows": 1000, "vocabulary": 50},
    "train": {"batch_size": 64, "epochs": 2, "seed": 3}})";
  return {small, ToJson(ParseTrainConfig(small, "seed"))};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::string again;
  fuzz::MayRefuse(
      [&] { again = ToJson(ParseTrainConfig(std::string(fuzz::AsText(data, size)), "input")); });
  if (!again.empty() && ToJson(ParseTrainConfig(again, "again")) != again) __builtin_trap();
  return 0;
}
