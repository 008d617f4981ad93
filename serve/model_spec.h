#ifndef TESSERA_SERVE_MODEL_SPEC_H_
#define TESSERA_SERVE_MODEL_SPEC_H_
// What a model directory's model.json says: a DLRM whose tables are stored rows, and where its
// tensors lie. Plain data.
//
//   {"tessera_model": 1, "version": 3, "type": "dlrm", "weights": "weights-3.safetensors",
//    "dense_in": 13, "dense_arch": [...], "over_arch": [...], "missing": "row0",
//    "tables": [{"name", "rows", "dim", "features": [...], "pooling": "SUM", "codec": "int8",
//                "default_row": false}, …]}
//
// The weights are a safetensors file whose data, and every tensor in it, begin on a 64-byte
// boundary, so that they are used where the file is mapped:
//
//   tables.<name>      u8 [rows, RowBytes(codec, dim)]; with default_row one row more, the last,
//                      which unknown ids read
//   <parameter>        f32, the dense part under the names of the model's state dict
//   <tensor>.padding   u8, up to the next boundary
#include <cstdint>
#include <string>
#include <vector>

#include "embedding/pooling.h"
#include "quant/row_codec.h"
#include "train/data/batch_builder.h"

namespace tessera::serve {

struct TableSpec {
  std::string name;
  int64_t rows = 0, dim = 0;
  std::vector<std::string> features = {};
  PoolingType pooling = PoolingType::kSum;  // kSum or kMean
  RowCodec codec = {};
  bool default_row = false;

  int64_t stored_rows() const { return rows + (default_row ? 1 : 0); }
  int64_t nbytes() const { return stored_rows() * RowBytes(codec, dim); }
};

struct ModelSpec {
  int64_t version = 1;  // of the contents of a directory: one more each time it is written
  std::string weights;  // the file's name, beside model.json
  int64_t dense_in = 0;
  std::vector<int64_t> dense_arch, over_arch;
  MissingIds missing = MissingIds::kRow0;  // how ids were made of raw rows
  std::vector<TableSpec> tables;

  // Of all tables, in order: the order of the features of a model.
  std::vector<std::string> Features() const;
};

inline constexpr char kModelFile[] = "model.json";
// "tables.<name>".
std::string RowsName(const TableSpec& table);

std::string ToJson(const ModelSpec& spec);
// Throws Error, which begins with `where`, for a document that is not such a model: a key that is
// missing or unknown, sizes that don't fit, a table or feature named twice, a weights file that is
// not in the directory.
ModelSpec ParseModelSpec(const std::string& text, const std::string& where);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MODEL_SPEC_H_
