#ifndef TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
#define TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
// A model directory for the targets that serve one.
#include <filesystem>
#include <string>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "serve/dense_part.h"
#include "serve/raw_id_map.h"
#include "serve/served_model.h"
#include "tests/fuzz/checksums.h"
#include "tests/fuzz/temp_file.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::fuzz {

// Features u (table a, int8), v (table b, f32, MEAN, raw ids) and w (table c, pruned, a hash), the
// first two with a default row; one dense feature; ids of u weigh what their positions have
// learned.
inline serve::ModelSpec SmallSpec() {
  serve::ModelSpec spec;
  spec.weights = "weights-1.safetensors";
  spec.net = {
      .dense_in = 1, .dense_arch = {4}, .over_arch = {4, 1}, .position_weights = {{"u", 4}}};
  spec.tables = {
      {.name = "a",
       .rows = 9,
       .dim = 4,
       .features = {"u"},
       .codec = {RowType::kInt8},
       .default_row = true},
      {.name = "b",
       .rows = 5,
       .dim = 4,
       .features = {"v"},
       .pooling = PoolingType::kMean,
       .default_row = true,
       .raw_ids = serve::RawIdRule{.max_rows = 8}},
      {.name = "c", .rows = 2, .dim = 4, .features = {"w"}, .ids = 7, .remap = RemapKind::kHash}};
  return spec;
}

inline std::string MakeServedModel(const std::string& name,
                                   const serve::ModelSpec& spec = SmallSpec()) {
  const std::string directory = TempPath(name);
  std::filesystem::create_directories(directory);
  Context ctx({.threads = 1, .seed = 1});
  Safetensors weights;
  for (const serve::TableSpec& table : spec.tables) {
    const Tensor rows = Tensor::Empty(ctx, {table.stored_rows(), table.dim});
    FillUniform(ctx, rows, -1, 1);
    weights.tensors[RowsName(table)] = EncodeRows(ctx, table.codec, rows);
    const std::vector<RemapEntry> entries = {{1, 0}, {6, 1}};
    if (table.pruned())
      weights.tensors[RemapName(table)] =
          IndexRemap(ctx, table.remap, entries, table.ids, table.rows).data();
    if (!table.raw_ids) continue;
    serve::RawIdMap ids(table.rows);
    for (const RemapEntry& entry : entries) ids.Set(entry.id, entry.row);
    weights.tensors[IdsName(table)] = ids.slots();
  }
  for (const NamedParameter& parameter : serve::DensePart(ctx, spec).Parameters())
    weights.tensors[parameter.name] = parameter.variable.value();
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(ctx, PathIn(directory, spec.weights), weights, &checksum);
  ReplaceTextFile(PathIn(directory, serve::kModelFile), ToJson(spec));
  return directory;
}

// Asks for one example: of each feature ids that are there, and that are not.
inline void Ask(const serve::ServedModel& model) {
  Context ctx({.threads = 1});
  std::vector<int64_t> ids, lengths;
  for (size_t f = 0; f < model.features().size(); ++f) {
    ids.insert(ids.end(), {0, 1, -7, int64_t{1} << 60});
    lengths.push_back(4);
  }
  serve::PredictRequest request{.dense = Tensor::Zeros(ctx, {1, model.spec().net.dense_in}),
                                .features = {}};
  if (!lengths.empty())
    request.features = KeyedJaggedTensor::FromLengthsSync(model.features(), Tensor::From(ctx, ids),
                                                          Tensor::From(ctx, lengths));
  const serve::PredictRequest* const one = &request;
  model.Predict(ctx, std::span(&one, 1));
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
