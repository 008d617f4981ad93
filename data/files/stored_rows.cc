#include "data/files/stored_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/mapping_faults.h"

namespace tessera {
namespace {

// Elements of a file may begin anywhere.
template <typename T>
T RowElement(const char* row, int64_t column) {
  T element;
  std::memcpy(&element, row + column * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return element;
}

void CheckColumns(const StoredRowsPart& part, const std::string& file, const char* what,
                  const Tensor& tensor, std::initializer_list<DType> types, bool vector_allowed) {
  const bool shape_fits = tensor.rank() == 2 || (vector_allowed && tensor.rank() == 1);
  const bool one_column = !vector_allowed || tensor.rank() == 1 || tensor.dim(1) == 1;
  const bool type_fits = std::find(types.begin(), types.end(), tensor.dtype()) != types.end();
  if (!shape_fits || !one_column || !type_fits || tensor.dim(0) != part.rows())
    throw Error(Format("{}: {}: expected {} rows of {}, got {} of {}", file, what, part.rows(),
                       vector_allowed                  ? "one number, f32 or i32"
                       : *types.begin() == DType::kF32 ? "f32"
                                                       : "i32 or i64",
                       tensor.shape(), tensor.dtype()));
}

}  // namespace

// A 32-bit division, where it is enough, takes half the time of a 64-bit one.
int64_t PositiveModulo(int64_t id, int64_t rows) {
  if (static_cast<uint64_t>(id | rows) >> 32 == 0)
    return static_cast<uint32_t>(id) % static_cast<uint32_t>(rows);
  const int64_t rest = id % rows;
  return rest < 0 ? rest + rows : rest;
}

// ---- bytes

struct CheckedBytes::Pieces {
  explicit Pieces(int64_t count) : good(static_cast<size_t>(count)) {}
  std::vector<std::atomic<bool>> good;
};

CheckedBytes::CheckedBytes(const char* data, int64_t bytes, std::string checksums, std::string name)
    : data_(data),
      bytes_(bytes),
      checksums_(std::move(checksums)),
      name_(std::move(name)),
      pieces_(std::make_unique<Pieces>((bytes + kChecksumBytes - 1) / kChecksumBytes)) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(checksums_.size()), ChecksumDigits(bytes),
                   "{}: digits of checksums", name_);
}

CheckedBytes::~CheckedBytes() = default;

void CheckedBytes::Check(int64_t begin, int64_t count) const {
  if (count == 0) return;
  for (int64_t piece = begin / kChecksumBytes; piece <= (begin + count - 1) / kChecksumBytes;
       ++piece)
    if (!pieces_->good[static_cast<size_t>(piece)].load(std::memory_order_relaxed))
      CheckPiece(piece);
}

void CheckedBytes::CheckPiece(int64_t piece) const {
  const int64_t begin = piece * kChecksumBytes;
  Checksums found;
  found.Add(data_ + begin, std::min(kChecksumBytes, bytes_ - begin));
  const int64_t digits = ChecksumDigits(kChecksumBytes);
  const std::string expected =
      checksums_.substr(static_cast<size_t>(piece * digits), static_cast<size_t>(digits));
  const std::string got = found.Finish();
  if (got != expected)
    throw Error(Format("{}: bytes {} to {} are not what was written: expected CRC-32 {}, got {}",
                       name_, begin, std::min(bytes_, begin + kChecksumBytes), expected, got));
  pieces_->good[static_cast<size_t>(piece)].store(true, std::memory_order_relaxed);
}

const char* StoredColumns::Elements(int64_t first, int64_t count) const {
  const int64_t size = SizeOf(tensor.dtype());
  if (check) check->Check(first * size, count * size);
  return static_cast<const char*>(tensor.raw_data()) + first * size;
}

const char* StoredColumns::Rows(int64_t first, int64_t count) const {
  return Elements(first * columns(), count * columns());
}

// ---- parts

StoredParts::StoredParts(std::vector<StoredRowsPart> parts, std::vector<std::string> id_columns)
    : parts_(std::move(parts)), id_columns_(std::move(id_columns)), first_{0} {
  TESSERA_CHECK(!parts_.empty(), "no file of rows was given");
  for (const StoredRowsPart& part : parts_) {
    CheckColumns(part, part.name, "dense", part.dense.tensor, {DType::kF32}, false);
    CheckColumns(part, part.ids_file(), "ids", part.ids.tensor, {DType::kI32, DType::kI64}, false);
    CheckColumns(part, part.labels_file(), "labels", part.labels.tensor, {DType::kF32, DType::kI32},
                 true);
    const bool has_numbers = part.dense.tensor.dim(1) == dense_columns();
    if (!has_numbers || part.ids.tensor.dim(1) != static_cast<int64_t>(id_columns_.size()))
      throw Error(Format("{}: expected rows of {} numbers and {} ids, got {} and {}",
                         has_numbers ? part.ids_file() : part.name, dense_columns(),
                         id_columns_.size(), part.dense.tensor.dim(1), part.ids.tensor.dim(1)));
    first_.push_back(first_.back() + part.rows());
  }
}

std::pair<const StoredRowsPart*, int64_t> StoredParts::Find(int64_t row) const {
  TESSERA_DCHECK(row >= 0 && row < rows(), "row {} of {}", row, rows());
  const auto after = std::upper_bound(first_.begin(), first_.end(), row);
  const auto part = static_cast<size_t>(after - first_.begin() - 1);
  return {&parts_[part], row - first_[part]};
}

int64_t StoredParts::Id(const StoredRowsPart& part, const char* ids, int64_t column) {
  return part.ids.tensor.dtype() == DType::kI32 ? RowElement<int32_t>(ids, column)
                                                : RowElement<int64_t>(ids, column);
}

float StoredParts::Label(const StoredRowsPart& part, int64_t row) {
  const char* const label = part.labels.Row(row);
  return part.labels.tensor.dtype() == DType::kF32
             ? RowElement<float>(label, 0)
             : static_cast<float>(RowElement<int32_t>(label, 0));
}

// ---- rows as batches

StoredRows::StoredRows(StoredParts parts, const std::vector<CategoricalFeature>& features)
    : parts_(std::move(parts)) {
  const auto& columns = parts_.id_columns();
  for (const CategoricalFeature& feature : features) {
    const auto found = std::find(columns.begin(), columns.end(), feature.name);
    if (found == columns.end())
      throw Error(Format("{}: feature '{}': the data has {} to {}",
                         parts_.parts().front().ids_file(), feature.name,
                         columns.empty() ? "none" : columns.front(),
                         columns.empty() ? "none" : columns.back()));
    const int64_t rows = CheckedHashSize(feature);
    keys_.push_back(feature.name);
    columns_.emplace_back(found - columns.begin(), rows);
    if (rows == 0 || rows > std::numeric_limits<int32_t>::max()) id_type_ = DType::kI64;
  }
}

template <typename Id>
Tensor StoredRows::Ids(Context& ctx,
                       std::span<const std::pair<const StoredRowsPart*, int64_t>> rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  const Tensor values =
      Tensor::Empty(ctx, {static_cast<int64_t>(columns_.size()) * count}, DTypeOf<Id>::value);
  Id* const out = values.data<Id>();
  for (int64_t b = 0; b < count; ++b) {
    const auto [part, row] = rows[static_cast<size_t>(b)];
    const char* const ids = part->ids.Row(row);
    for (size_t f = 0; f < columns_.size(); ++f)
      out[static_cast<int64_t>(f) * count + b] = static_cast<Id>(
          HashedId(StoredParts::Id(*part, ids, columns_[f].first), columns_[f].second));
  }
  return values;
}

Batch StoredRows::Gather(Context& ctx, std::span<const int64_t> rows) const {
  std::vector<std::pair<const StoredRowsPart*, int64_t>> found;
  for (const int64_t row : rows) found.push_back(parts_.Find(row));
  const auto count = static_cast<int64_t>(rows.size());
  Batch batch;
  batch.dense = Tensor::Empty(ctx, {count, dense_columns()});
  batch.labels = Tensor::Empty(ctx, {count});
  const auto dense_bytes = static_cast<size_t>(dense_columns()) * sizeof(float);
  for (int64_t b = 0; b < count; ++b) {
    const auto [part, row] = found[static_cast<size_t>(b)];
    if (dense_bytes > 0)
      std::memcpy(batch.dense.data<float>() + b * dense_columns(), part->dense.Row(row),
                  dense_bytes);
    batch.labels.data<float>()[b] = StoredParts::Label(*part, row);
  }
  const Tensor lengths =
      Tensor::Full(ctx, {static_cast<int64_t>(keys_.size()) * count}, 1, DType::kI32);
  const Tensor values =
      id_type_ == DType::kI32 ? Ids<int32_t>(ctx, found) : Ids<int64_t>(ctx, found);
  batch.features = KeyedJaggedTensor::FromLengthsSync(keys_, values, lengths);
  if (AnyMappingFaulted())
    for (const auto& [part, row] : found)
      for (const StoredColumns* columns : {&part->dense, &part->ids, &part->labels})
        CheckMapping(columns->tensor.raw_data());
  return batch;
}

}  // namespace tessera
