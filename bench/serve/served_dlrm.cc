#include "bench/serve/served_dlrm.h"

#include <filesystem>

#include "bench/harness/criteo_rows.h"
#include "bench/inputs/id_stream.h"
#include "bench/train/criteo_dlrm.h"
#include "runtime/files/files.h"
#include "runtime/tensor.h"
#include "serve/export/model_writer.h"
#include "train/trainer.h"

namespace tessera::bench {
namespace {

constexpr int64_t kDense = ClickRow::kIntegers;

}  // namespace

std::string WriteServedDlrm(const std::string& folder, int64_t dim, int64_t cap,
                            const std::string& codec) {
  const TrainConfig config = CriteoDlrm(dim, CriteoRows(cap));
  Context ctx({.seed = 11});
  const std::string checkpoint = PathIn(folder, Format("D{}.safetensors", dim));
  if (!std::filesystem::exists(checkpoint)) Trainer(ctx, config).Save(checkpoint);
  const std::string directory = PathIn(folder, Format("D{}_{}", dim, codec));
  serve::WriteModel(ctx, ReadCheckpoint(checkpoint), config, directory,
                    {.codec = ParseRowCodec(codec)});
  return directory;
}

RawRequest DrawRequest(Draws& draws, const serve::ModelSpec& spec, int64_t batch) {
  RawRequest raw{.batch = batch, .dense = {}, .ids = {}};
  for (int64_t i = 0; i < batch * kDense; ++i)
    raw.dense.push_back(static_cast<float>(draws.Uniform()));
  for (const serve::TableSpec& table : spec.tables)
    for (int64_t b = 0; b < batch; ++b)
      raw.ids.push_back(DrawRow(draws.Uniform(), table.rows, 1.05));
  return raw;
}

serve::PredictRequest RequestOf(Context& ctx, const serve::ServedModel& model,
                                const RawRequest& raw) {
  const auto bags = std::ssize(raw.ids);
  return {.dense = Tensor::From(ctx, {raw.batch, kDense}, raw.dense),
          .features = KeyedJaggedTensor({.keys = model.features(),
                                         .values = Tensor::From(ctx, raw.ids),
                                         .lengths = Tensor::Full(ctx, {bags}, 1, DType::kI64)})};
}

}  // namespace tessera::bench
