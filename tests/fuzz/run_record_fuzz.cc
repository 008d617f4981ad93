// The record of a training, as another run of it reads it: one that is understood takes another
// step, and is then read as it was, with that step.
#include <memory>

#include "runtime/files/files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"
#include "train/verify/run_record.h"

namespace tessera::fuzz {
namespace {

constexpr int64_t kNewStep = 1 << 30;

const TrainConfig& Config() {
  static const TrainConfig config = ParseTrainConfig(R"({
    "tables": [{"name": "a", "rows": 9, "dim": 4, "features": ["cat_0"]}],
    "model": {"type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [4, 1]},
    "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
    "data": {"format": "random", "rows": 10}, "train": {"batch_size": 2}})",
                                                     "seed");
  return config;
}

StepDigest SomeDigest(uint64_t hash) {
  StepDigest digest;
  digest.batch.Add(0, hash);
  digest.rows.Add(1, hash);
  digest.dense.Add(2, hash);
  return digest;
}

bool Same(const StepDigest* a, const StepDigest* b) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string path = WriteTempFile("seed", "");
  RunRecord record(path, Config(), {});
  record.AddStep(1, SomeDigest(5));
  record.AddStep(2, SomeDigest(~0ull));
  record.AddState(2, SomeDigest(1));
  return {ReadTextFile(path)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("record", fuzz::AsText(data, size));
  const StepDigest added = fuzz::SomeDigest(7);
  std::unique_ptr<RunRecord> record;
  fuzz::MayRefuse([&] { record = std::make_unique<RunRecord>(path, fuzz::Config(), RunTerms{}); });
  if (record == nullptr || record->FindStep(fuzz::kNewStep) != nullptr) return 0;
  record->AddStep(fuzz::kNewStep, added);
  const RunRecord again(path, fuzz::Config(), RunTerms{});
  if (!fuzz::Same(again.FindStep(fuzz::kNewStep), &added)) __builtin_trap();
  for (const int64_t step : {0, 1, 2, 255})
    if (!fuzz::Same(again.FindStep(step), record->FindStep(step)) ||
        !fuzz::Same(again.FindState(step), record->FindState(step)))
      __builtin_trap();
  return 0;
}
