#include "serve/model_delta.h"

#include "embedding/lookup/row_ops.h"
#include "runtime/json/json_object.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {
namespace {

// Rows of the tensor of that name, 0 where it is missing.
int64_t RowsOf(const MappedTensors& tensors, const std::string& name) {
  return tensors.Contains(name) && tensors.ShapeOf(name).rank() > 0 ? tensors.ShapeOf(name)[0] : 0;
}

// A view of a tensor, or an empty tensor if it is missing.
Tensor AtOrEmpty(const MappedTensors& tensors, const std::string& name, DType dtype, Shape shape) {
  if (tensors.Contains(name)) return tensors.At(name, dtype, shape);
  Context ctx({.threads = 1});
  shape[0] = 0;
  return Tensor::Empty(ctx, shape, dtype);
}

void CheckTableFollows(const TableSpec& before, const TableSpec& after, const std::string& where) {
  const auto check = [&](const char* what, const auto& expected, const auto& got) {
    if (expected == got) return;
    throw Error(Format("{}: table {}: expected {} {}, as in the version before, got {}", where,
                       before.name, what, expected, got));
  };
  check("name", before.name, after.name);
  check("dim", before.dim, after.dim);
  check("codec", ToString(before.codec), ToString(after.codec));
  if (before.raw_ids && before.raw_ids->max_rows > 0 && after.rows >= before.rows &&
      after.rows <= before.raw_ids->max_rows)
    return;
  check("rows", before.rows, after.rows);
}

// The model's JSON with every field that a delta may change taken from `before`.
std::string ComparableJson(ModelSpec spec, const ModelSpec& before) {
  spec.version = before.version;
  spec.trained = before.trained;
  spec.data = before.data;  // each version reads raw rows as its own training did
  for (size_t t = 0; t < spec.tables.size(); ++t) spec.tables[t].rows = before.tables[t].rows;
  return ToJson(spec);
}

}  // namespace

std::string DeltaFileName(int64_t version) { return Format("delta-{}.safetensors", version); }
std::string DeltaRowNumbersName(const TableSpec& table) {
  return "rows." + table.name + ".numbers";
}
std::string DeltaRowBytesName(const TableSpec& table) { return "rows." + table.name + ".bytes"; }
std::string DeltaRemovedIdsName(const TableSpec& table) { return "ids." + table.name + ".removed"; }
std::string DeltaSetIdsName(const TableSpec& table) { return "ids." + table.name + ".set"; }

void CheckFollows(const ModelSpec& before, const ModelSpec& after, const std::string& where) {
  if (after.version != before.version + 1)
    throw Error(
        Format("{}: expected version {}, got {}", where, before.version + 1, after.version));
  if (after.tables.size() != before.tables.size())
    throw Error(Format("{}: expected {} tables, as in the version before, got {}", where,
                       before.tables.size(), after.tables.size()));
  for (size_t t = 0; t < before.tables.size(); ++t)
    CheckTableFollows(before.tables[t], after.tables[t], where);
  const std::string was = ToJson(before), is = ComparableJson(after, before);
  if (was == is) return;
  using tessera::internal::ParseJson;
  const auto first = tessera::internal::Json::diff(ParseJson(was), ParseJson(is)).front();
  throw Error(
      Format("{}: it is of another model than version {}, whose model.json has another {}: "
             "tessera quantize writes it whole",
             where, before.version, first["path"].get<std::string>()));
}

ModelDelta::ModelDelta(const std::string& path, const ModelSpec& before,
                       const std::string& before_crc32)
    : tensors_(path) {
  if (tensors_.Metadata(kDeltaKey) != kDeltaFormat)
    throw Error(Format("{}: {}: expected {}, got '{}'", path, kDeltaKey, kDeltaFormat,
                       tensors_.Metadata(kDeltaKey)));
  spec_ = ParseModelSpec(tensors_.Metadata(kDeltaModelKey), path + ": model");
  CheckFollows(before, spec_, path);
  if (tensors_.Metadata(kFollowsKey) != before_crc32)
    throw Error(Format("{}: it follows another version {}: expected crc32 {}, got '{}'", path,
                       before.version, before_crc32, tensors_.Metadata(kFollowsKey)));
  if (!tensors_.IsIntact()) throw Error(Format("{}: its bytes do not have their crc32", path));
  for (size_t t = 0; t < before.tables.size(); ++t)
    tables_.push_back(Read(before.tables[t], spec_.tables[t]));
}

std::string ModelDelta::crc32() const { return tensors_.Metadata(CheckpointChecksum().key); }

TableDelta ModelDelta::Read(const TableSpec& before, const TableSpec& after) const {
  const auto take = [&](const std::string& name, DType dtype, Shape shape) {
    shape[0] = RowsOf(tensors_, name);
    return AtOrEmpty(tensors_, name, dtype, shape);
  };
  TableDelta delta{
      .numbers = take(DeltaRowNumbersName(after), DType::kI64, {0}),
      .bytes = take(DeltaRowBytesName(after), DType::kU8, {0, RowBytes(after.codec, after.dim)}),
      .removed_ids = take(DeltaRemovedIdsName(after), DType::kI64, {0}),
      .set_ids = take(DeltaSetIdsName(after), DType::kI64, {0, 2})};
  const auto fail = [&](const char* what) {
    throw Error(Format("{}: table {}: {}", tensors_.path(), after.name, what));
  };
  const auto numbers = delta.numbers.span<int64_t>();
  if (delta.bytes.dim(0) != std::ssize(numbers)) fail("as many rows as numbers are expected");
  int64_t previous = -1, expected_new = before.stored_rows();
  for (const int64_t row : numbers) {
    if (row <= previous) fail("numbers of rows are expected to ascend from 0");
    if (row >= after.stored_rows()) fail("it names a row that the table does not have");
    if (row >= before.stored_rows() && row != expected_new++) fail("a new row is missing");
    previous = row;
  }
  if (expected_new != after.stored_rows()) fail("a new row is missing");
  if (!after.raw_ids && delta.removed_ids.numel() + delta.set_ids.numel() > 0)
    fail("it changes raw ids, but the table has none");
  const auto set = delta.set_ids.span<int64_t>();
  for (size_t i = 1; i < set.size(); i += 2)
    if (!IsRow(set[i], after.rows)) fail("an id is given a row that the table does not have");
  return delta;
}

}  // namespace tessera::serve
