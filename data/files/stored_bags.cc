#include "data/files/stored_bags.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/files/mapping_faults.h"

namespace tessera {
namespace {

// Element i of an array that may begin at any address.
template <typename T>
T Element(const void* elements, int64_t i) {
  T element;
  std::memcpy(&element, static_cast<const char*>(elements) + i * int64_t{sizeof(T)}, sizeof(T));
  return element;
}

// Copies elements to `out`, and returns the place behind them there.
template <typename T>
T* CopyElements(const char* from, int64_t count, T* out) {
  if (count > 0) std::memcpy(out, from, static_cast<size_t>(count) * sizeof(T));
  return out + count;
}

// Calls fn with a value of the type.
template <typename Fn>
void ForType(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF32:
      return fn(float{});
    case DType::kF64:
      return fn(double{});
    case DType::kI8:
      return fn(int8_t{});
    case DType::kU8:
    case DType::kBool:
      return fn(uint8_t{});
    case DType::kI16:
      return fn(int16_t{});
    case DType::kI32:
      return fn(int32_t{});
    case DType::kI64:
      return fn(int64_t{});
    default:
      TESSERA_FAIL("elements of {}", dtype);
  }
}

// Copies `count` elements as floats; returns the place behind them in `out`.
template <typename T>
float* CopyFloats(const char* from, int64_t count, float* out) {
  if constexpr (std::is_same_v<T, float>) {
    return CopyElements(from, count, out);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(Element<T>(from, i));
    return out + count;
  }
}

constexpr int64_t kBlock = 64;  // a loop of so many fixed steps is vectorized

// Copies ids that need no modulo, which most don't, a block at a time; returns how many.
int64_t CopySmallIds(const char* from, int64_t count, int64_t rows, int32_t* out) {
  if (rows == 0 || rows > std::numeric_limits<int32_t>::max()) return 0;
  const auto limit = static_cast<uint32_t>(rows);
  int64_t done = 0;
  for (; done + kBlock <= count; done += kBlock) {
    std::memcpy(out + done, from + done * 4, kBlock * 4);
    uint32_t beyond = 0;
    for (int64_t i = 0; i < kBlock; ++i)
      beyond |= static_cast<uint32_t>(static_cast<uint32_t>(out[done + i]) >= limit);
    if (beyond != 0) break;
  }
  return done;
}

// Returns how many ids are no row.
template <typename From, typename Id>
int64_t CopyIds(const char* ids, int64_t count, int64_t rows, int64_t shift, Id* out) {
  const auto below = static_cast<uint64_t>(rows - shift);
  int64_t i = 0, beyond = 0;
  if constexpr (sizeof(From) == 4 && sizeof(Id) == 4)
    if (shift == 0) i = CopySmallIds(ids, count, rows, out);
  for (; i < count; ++i) {
    const int64_t read = Element<From>(ids, i);
    const auto id = static_cast<int64_t>(static_cast<uint64_t>(HashedId(read, rows)) +
                                         static_cast<uint64_t>(shift));
    beyond += static_cast<uint64_t>(read) >= below;
    out[i] = static_cast<Id>(HashedId(id, rows));
  }
  return beyond;
}

void CheckMappingOf(const StoredColumns& columns) {
  if (columns.tensor) CheckMapping(columns.tensor.raw_data());
}

void CheckMappingsOf(const BagPart& part) {
  for (const StoredColumns* columns :
       {&part.dense.stored, &part.labels.stored, &part.weight, &part.time})
    CheckMappingOf(*columns);
  for (const BagColumn& column : part.bags)
    for (const StoredColumns* columns : {&column.ids, &column.offsets, &column.weights})
      CheckMappingOf(*columns);
}

}  // namespace

// ---- numbers

NumberColumns NumberColumns::AllOf(StoredColumns stored) {
  const int64_t columns = stored.columns();
  return {.stored = std::move(stored), .picked = {{0, columns}}};
}

int64_t NumberColumns::width() const {
  int64_t width = 0;
  for (const auto& [begin, end] : picked) width += end - begin;
  return width;
}

void NumberColumns::Copy(int64_t first, int64_t count, float* out) const {
  if (width() == 0 || count == 0) return;
  CopyAll(first, count, out);
  if (!unchecked_file.empty()) CheckFinite(first, {out, static_cast<size_t>(count * width())});
}

void NumberColumns::CheckFinite(int64_t first, std::span<const float> numbers) const {
  const auto bad =
      std::ranges::find_if(numbers, [](float number) { return !std::isfinite(number); });
  if (bad == numbers.end()) return;
  const int64_t at = bad - numbers.begin();
  throw Error(Format("{}: row {}: number {}: expected a finite number of 32 bits, got {}",
                     unchecked_file, first + at / width(), at % width(), *bad));
}

void NumberColumns::CopyAll(int64_t first, int64_t count, float* out) const {
  const int64_t columns = stored.columns();
  const char* const from = stored.Rows(first, count);
  ForType(stored.tensor.dtype(), [&]<typename T>(T) {
    if (picked == std::vector<std::pair<int64_t, int64_t>>{{0, columns}}) {
      CopyFloats<T>(from, count * columns, out);
      return;
    }
    for (int64_t row = 0; row < count; ++row)
      for (const auto& [begin, end] : picked)
        out = CopyFloats<T>(from + (row * columns + begin) * int64_t{sizeof(T)}, end - begin, out);
  });
}

// ---- rows

StoredBags::StoredBags(std::vector<BagFeature> features, std::vector<BagPart> parts)
    : features_(std::move(features)), parts_(std::move(parts)) {
  TESSERA_CHECK(!parts_.empty(), "no file of rows was given");
  for (const BagFeature& feature : features_) {
    keys_.push_back(feature.name);
    counts_unknown_ |= feature.counts_unknown;
    if (feature.rows == 0 || feature.rows > std::numeric_limits<int32_t>::max())
      id_type_ = DType::kI64;
  }
  for (const BagPart& part : parts_) {
    first_.push_back(first_.back() + part.rows);
    for (const BagColumn& column : part.bags) weighted_ |= static_cast<bool>(column.weights.tensor);
  }
}

std::vector<StoredBags::Run> StoredBags::RunsOf(std::span<const int64_t> rows) const {
  std::vector<Run> runs;
  for (const int64_t row : rows) {
    const auto after = std::upper_bound(first_.begin(), first_.end(), row);
    const auto p = static_cast<size_t>(after - first_.begin() - 1);
    const int64_t at = row - first_[p];
    if (!runs.empty() && runs.back().part == &parts_[p] &&
        runs.back().begin + runs.back().count == at)
      ++runs.back().count;
    else
      runs.push_back({&parts_[p], at, 1});
  }
  return runs;
}

// ---- features

// The lengths of a feature's bags in a run. Throws Error for offsets that do not rise, or that lead
// out of the ids.
StoredBags::IdRun StoredBags::FillLengths(const Run& run, size_t feature, int32_t* lengths) const {
  const BagColumn& column = run.part->bags[feature];
  if (!column.offsets.tensor) {
    const int64_t hot = column.ids.columns();
    std::fill_n(lengths, run.count, static_cast<int32_t>(hot));
    return {&column, &features_[feature], run.begin * hot, run.count * hot};
  }
  const char* const offsets = column.offsets.Rows(run.begin, run.count + 1);
  const int64_t ids = column.ids.tensor.dim(0), first = Element<int32_t>(offsets, 0);
  int64_t begin = first;
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t end = Element<int32_t>(offsets, i + 1);
    if (begin < 0 || end < begin || end > ids) {
      CheckMappingOf(column.offsets);  // of a file that was cut, offsets are zeros
      throw Error(
          Format("{}: feature '{}': row {}: expected offsets that rise to {} at most, got {} and "
                 "{}",
                 run.part->name, features_[feature].name, run.begin + i, ids, begin, end));
    }
    lengths[i] = static_cast<int32_t>(end - begin);
    begin = end;
  }
  return {&column, &features_[feature], first, begin - first};
}

template <typename Id>
Tensor StoredBags::IdsOf(Context& ctx, std::span<const IdRun> runs, int64_t count,
                         std::vector<ItemCount>& items) const {
  const Tensor values = Tensor::Empty(ctx, {count}, DTypeOf<Id>::value);
  Id* out = values.data<Id>();
  for (const IdRun& run : runs) {
    if (run.count == 0) continue;
    const bool narrow = run.column->ids.tensor.dtype() == DType::kI32;
    const auto copy = narrow ? CopyIds<int32_t, Id> : CopyIds<int64_t, Id>;
    const int64_t beyond = copy(run.column->ids.Elements(run.begin, run.count), run.count,
                                run.feature->rows, run.feature->shift, out);
    if (run.feature->counts_unknown) {
      ItemCount& of_feature = items[static_cast<size_t>(run.feature - features_.data())];
      of_feature.items += run.count;
      of_feature.unknown += beyond;
    }
    out += run.count;
  }
  return values;
}

KeyedJaggedTensor StoredBags::FeaturesOf(Context& ctx, std::span<const Run> runs, int64_t rows,
                                         std::vector<ItemCount>& items) const {
  const auto keys = static_cast<int64_t>(features_.size());
  const Tensor lengths = Tensor::Empty(ctx, {keys * rows}, DType::kI32);
  int32_t* length = lengths.data<int32_t>();
  std::vector<IdRun> id_runs;
  int64_t count = 0;
  for (size_t f = 0; f < features_.size(); ++f)
    for (const Run& run : runs) {
      id_runs.push_back(FillLengths(run, f, length));
      length += run.count;
      count += id_runs.back().count;
    }
  if (counts_unknown_) items.resize(features_.size());
  const Tensor ids = id_type_ == DType::kI32 ? IdsOf<int32_t>(ctx, id_runs, count, items)
                                             : IdsOf<int64_t>(ctx, id_runs, count, items);
  if (!weighted_) return KeyedJaggedTensor::FromLengthsSync(keys_, ids, lengths);
  const Tensor weights = Tensor::Empty(ctx, {count});
  float* out = weights.data<float>();
  for (const auto& [column, feature, begin, size] : id_runs)
    out = column->weights.tensor && size > 0
              ? CopyElements(column->weights.Elements(begin, size), size, out)
              : std::fill_n(out, size, 1.0f);
  return KeyedJaggedTensor::FromLengthsSync(keys_, ids, lengths, weights);
}

// ---- batches

Batch StoredBags::NumbersOf(Context& ctx, std::span<const Run> runs, int64_t rows) const {
  const int64_t numbers = dense_columns(), labels = label_columns();
  Batch batch;
  batch.dense = Tensor::Empty(ctx, {rows, numbers});
  if (labels > 0)
    batch.labels = Tensor::Empty(ctx, labels == 1 ? Shape{rows} : Shape{rows, labels});
  if (parts_.front().weight.tensor) batch.weights = Tensor::Empty(ctx, {rows});
  if (parts_.front().time.tensor) batch.time = Tensor::Empty(ctx, {rows}, DType::kI64);
  int64_t row = 0;
  for (const auto& [part, begin, count] : runs) {
    part->dense.Copy(begin, count, batch.dense.data<float>() + row * numbers);
    if (labels > 0) part->labels.Copy(begin, count, batch.labels.data<float>() + row * labels);
    if (batch.weights)
      CopyElements(part->weight.Rows(begin, count), count, batch.weights.data<float>() + row);
    if (batch.time)
      CopyElements(part->time.Rows(begin, count), count, batch.time.data<int64_t>() + row);
    row += count;
  }
  return batch;
}

Batch StoredBags::Gather(Context& ctx, std::span<const int64_t> rows) const {
  const std::vector<Run> runs = RunsOf(rows);
  const auto count = static_cast<int64_t>(rows.size());
  Batch batch = NumbersOf(ctx, runs, count);
  batch.features = FeaturesOf(ctx, runs, count, batch.items);
  if (AnyMappingFaulted())
    for (const Run& run : runs) CheckMappingsOf(*run.part);
  return batch;
}

}  // namespace tessera
