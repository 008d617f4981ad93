#ifndef TESSERA_SERVE_MODEL_SPEC_H_
#define TESSERA_SERVE_MODEL_SPEC_H_
// The model.json of a model directory: a ranking model whose tables are stored rows, and where its
// tensors lie. Plain data.
//
//   {"tessera_model": 2, "version": 3, "weights": "weights-3.safetensors",
//    "model": {"type": "dlrm", "dense_in": 13, …}, "dense_type": "f32", "missing": "row0",
//    "tables": [{"name", "rows", "dim", "features": [...], "pooling": "SUM", "codec": "int8",
//                "default_row": false}, …],
//    "data": {"format": "jsonl", …}, "crc32": "0a1b2c3d"}
//
// "model" and "data" are what a training configuration has under these names; models of older
// releases, and those that a program trained on rows of its own, have no "data". A pruned table has
// "ids", how many the data may name, of which `rows` were kept, and "remap", "array" or "hash". A
// table of raw ids has "raw_ids": {}, whose keys are those of RawIdRule. "search": true says that
// rows were encoded with a search for their ranges.
//
// Deltas (model_delta.h) lie beside it and make newer versions of it.
//
// The weights are a safetensors file whose data, and every tensor in it, begin on a 64-byte
// boundary, so that they are used where the file is mapped:
//
//   tables.<name>      u8 [rows, RowBytes(codec, dim)]; with default_row one row more, the last,
//                      which unknown ids read
//   remap.<name>       of a pruned table, from its ids to its rows: the data of an IndexRemap
//                      (embedding/lookup/index_remap.h)
//   ids.<name>         of a table of raw ids, i64 [slots, 2]: the slots of a RawIdMap
//                      (raw_id_map.h)
//   <parameter>        of dense_type, the dense part under the names of the model's state dict; it
//                      is computed in f32 whatever it is stored as
//   <tensor>.padding   u8, up to the next boundary
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "embedding/config/pooling.h"
#include "embedding/lookup/index_remap.h"
#include "models/ranking_net_config.h"
#include "quant/row_codec.h"
#include "sharding/plan/hash_parts.h"
#include "train/config/data_config.h"

namespace tessera::serve {

// The row that a raw id reads if the table's map does not have it.
enum class UnknownIds {
  kDefault,  // what unknown ids of other tables do: the default row, or nothing
  kRows,     // one of num_rows rows from first_row on, by ResidualHashBelow
  kSlots,  // a row that its hash names, as in hash ZCH: ZchSlots::Fallback of buckets and reserved
};
// "default", "rows", "slots".
std::string UnknownIdsName(UnknownIds unknown);

// How raw 64-bit ids of a table mean rows (embedding/managed_collision), beside its map.
struct RawIdRule {
  int64_t max_rows = 0;  // as many as deltas may bring; 0: `rows`
  // Parts by hash (sharding/plan/hash_parts.h); the numbers below are of each.
  int64_t num_parts = 1;
  // Whether row r of part p is row r · num_parts + p of the table, which then has no more rows than
  // its fullest part uses, and grows at its end; else row p · rows / num_parts + r.
  bool interleaved = false;
  int64_t hash_below = 0;  // above 0: ids are first made HashBelow(id, hash_below)
  UnknownIds unknown = UnknownIds::kDefault;
  int64_t first_row = 0, num_rows = 1;                     // of kRows
  int64_t buckets = 1, reserved = 0, input_hash_size = 0;  // of kSlots

  // Parts of a table of `rows` rows.
  HashParts Parts(int64_t rows) const { return {num_parts, rows / num_parts}; }
  // The table's row that is a row of a part.
  int64_t RowOfPart(int64_t rows, int64_t part, int64_t row) const {
    return interleaved ? row * num_parts + part : part * (rows / num_parts) + row;
  }
  // Returns the key under which the map knows an id of a part, which was hashed below hash_below if
  // that is above 0.
  int64_t Key(int64_t part, int64_t id) const { return part * hash_below + id; }
};

struct TableSpec {
  std::string name = {};
  int64_t rows = 0, dim = 0;
  std::vector<std::string> features = {};
  PoolingType pooling = PoolingType::kSum;  // kSum or kMean
  RowCodec codec = {};
  bool default_row = false;
  int64_t ids = 0;  // of a pruned table; else 0
  RemapKind remap = RemapKind::kArray;
  std::optional<RawIdRule> raw_ids = {};

  bool pruned() const { return ids > 0; }
  // How many ids the data may name, if not any.
  int64_t num_ids() const { return pruned() ? ids : rows; }
  int64_t stored_rows() const { return rows + (default_row ? 1 : 0); }
  // Stored rows, as many as there will ever be.
  int64_t most_stored_rows() const {
    return std::max(rows, raw_ids ? raw_ids->max_rows : 0) + (default_row ? 1 : 0);
  }
  int64_t nbytes() const { return stored_rows() * RowBytes(codec, dim); }
};

// Step of the training that a model was made of.
struct TrainedTo {
  int64_t seed = 0, step = 0;
};

struct ModelSpec {
  int64_t version = 1;  // of the contents of a directory: one more each time it is written
  std::string weights;  // the file's name, beside model.json
  RankingNetConfig net;
  DType dense_type = DType::kF32;          // as which the dense part is stored: f32 or f16
  MissingIds missing = MissingIds::kRow0;  // how ids were made of raw rows
  bool search = false;                     // EncodeOptions::search
  std::optional<TrainedTo> trained = {};   // where the checkpoint said so
  std::optional<DataConfig> data = {};     // whose rows it was trained on, whatever their order
  std::vector<TableSpec> tables;

  // The features that requests bring: those of all tables, each once, in the order of their first
  // readers.
  std::vector<std::string> Features() const;
  // The features that the tables read, table after table: what is pooled, one block of columns
  // each. A feature that several tables read is there as often.
  std::vector<std::string> Reads() const;
  // The names of an example's answers, in their order: "score", or the model's tasks.
  std::vector<std::string> Outputs() const;
  // The blocks of columns of what is pooled, as Reads.
  std::vector<PooledFeature> PooledFeatures() const;
};

inline constexpr char kModelFile[] = "model.json";
inline constexpr char kScoreOutput[] = "score";  // of a model without tasks
// "tables.<name>", "remap.<name>", "ids.<name>".
std::string RowsName(const TableSpec& table);
std::string RemapName(const TableSpec& table);
std::string IdsName(const TableSpec& table);

std::string RemapKindName(RemapKind kind);  // "array", "hash"
RemapKind ParseRemapKind(const std::string& name);

std::string ToJson(const ModelSpec& spec);
// Formats a spec with a checksum of itself under "crc32", as model.json is written.
std::string ToSealedJson(const ModelSpec& spec);
// Throws Error, which begins with `where`, for a document that is not such a model: a key that is
// missing or unknown, sizes that don't fit, a table or feature named twice, a weights file that is
// not in the directory, values that are not what their checksum says.
ModelSpec ParseModelSpec(const std::string& text, const std::string& where);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MODEL_SPEC_H_
