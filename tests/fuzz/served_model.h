#ifndef TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
#define TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
// A model directory for the targets that serve one.
#include <filesystem>
#include <string>

#include "runtime/files.h"
#include "runtime/safetensors.h"
#include "serve/dense_part.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

// Features u (table a, int8) and v (table b, f32, MEAN), both with a default row; one dense feature.
inline serve::ModelSpec SmallSpec() {
  serve::ModelSpec spec;
  spec.weights = "weights-1.safetensors";
  spec.dense_in = 1;
  spec.dense_arch = {4};
  spec.over_arch = {4, 1};
  spec.tables = {{.name = "a",
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
                  .default_row = true}};
  return spec;
}

inline std::string MakeServedModel(const std::string& name) {
  const serve::ModelSpec spec = SmallSpec();
  const std::string directory = TempPath(name);
  std::filesystem::create_directories(directory);
  Context ctx({.threads = 1, .seed = 1});
  Safetensors weights;
  for (const serve::TableSpec& table : spec.tables) {
    const Tensor rows = Tensor::Empty(ctx, {table.stored_rows(), table.dim});
    FillUniform(ctx, rows, -1, 1);
    weights.tensors[RowsName(table)] = EncodeRows(ctx, table.codec, rows);
  }
  for (const NamedParameter& parameter : serve::DensePart(ctx, spec).Parameters())
    weights.tensors[parameter.name] = parameter.variable.value();
  WriteSafetensors(ctx, PathIn(directory, spec.weights), weights);
  ReplaceTextFile(PathIn(directory, serve::kModelFile), ToJson(spec));
  return directory;
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
