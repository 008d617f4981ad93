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

// Features u (table a, int8), v (table b, f32, MEAN) and w (table c, pruned, a hash), the first two
// with a default row; one dense feature.
inline serve::ModelSpec SmallSpec() {
  serve::ModelSpec spec;
  spec.weights = "weights-1.safetensors";
  spec.net = {.dense_in = 1, .dense_arch = {4}, .over_arch = {4, 1}};
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
       .default_row = true},
      {.name = "c", .rows = 2, .dim = 4, .features = {"w"}, .ids = 7, .remap = RemapKind::kHash}};
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
    const std::vector<RemapEntry> entries = {{1, 0}, {6, 1}};
    if (table.pruned())
      weights.tensors[RemapName(table)] =
          IndexRemap(ctx, table.remap, entries, table.ids, table.rows).data();
  }
  for (const NamedParameter& parameter : serve::MakeDensePart(ctx, spec)->Parameters())
    weights.tensors[parameter.name] = parameter.variable.value();
  WriteSafetensors(ctx, PathIn(directory, spec.weights), weights);
  ReplaceTextFile(PathIn(directory, serve::kModelFile), ToJson(spec));
  return directory;
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_SERVED_MODEL_H_
