#ifndef TESSERA_SERVE_MODEL_DELTA_H_
#define TESSERA_SERVE_MODEL_DELTA_H_
// A delta turns version n of a served model into version n + 1: a safetensors file beside
// model.json, delta-<n + 1>.safetensors.
//
//   rows.<name>.numbers  i64 [k]            of stored rows that differ or are new, ascending
//   rows.<name>.bytes    u8 [k, row bytes]  what they hold from then on
//   ids.<name>.removed   i64 [k]            raw ids that have no row any more
//   ids.<name>.set       i64 [k, 2]         (id, row), of ids that are new or have another row
//   <parameter>          the dense part, all of it
//   <tensor>.padding     as in the weights
//   __metadata__         tessera_delta "1"; model, the model.json of version n + 1; follows_crc32,
//                        the crc32 of what it follows, weights or a delta; crc32, of its own bytes
//
// Tensors of tables in which nothing changed are absent. Nothing but "version" and "rows" differs
// between the two models; "weights" are still those of the base.
#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "serve/mapped_tensors.h"
#include "serve/model_spec.h"

namespace tessera::serve {

// "delta-7.safetensors".
std::string DeltaFileName(int64_t version);
// "rows.<name>.numbers", …
std::string DeltaRowNumbersName(const TableSpec& table);
std::string DeltaRowBytesName(const TableSpec& table);
std::string DeltaRemovedIdsName(const TableSpec& table);
std::string DeltaSetIdsName(const TableSpec& table);

inline constexpr char kDeltaKey[] = "tessera_delta", kDeltaModelKey[] = "model",
                      kFollowsKey[] = "follows_crc32", kDeltaFormat[] = "1";

// Changes of one table; k = 0 where there are none.
struct TableDelta {
  Tensor numbers, bytes, removed_ids, set_ids;
};

// Throws Error, beginning with `where`, where `after` is not what a delta may make of `before`.
void CheckFollows(const ModelSpec& before, const ModelSpec& after, const std::string& where);

class ModelDelta {
 public:
  // Throws Error, naming the file, for one that is no delta, does not have the bytes that it says,
  // or does not follow `before`, whose crc32 this is.
  ModelDelta(const std::string& path, const ModelSpec& before, const std::string& before_crc32);

  // The spec of the model that the delta makes.
  const ModelSpec& spec() const { return spec_; }
  std::string crc32() const;
  const std::vector<TableDelta>& tables() const { return tables_; }
  // The dense part among them.
  const MappedTensors& tensors() const { return tensors_; }

 private:
  TableDelta Read(const TableSpec& before, const TableSpec& after) const;

  MappedTensors tensors_;
  ModelSpec spec_;
  std::vector<TableDelta> tables_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MODEL_DELTA_H_
