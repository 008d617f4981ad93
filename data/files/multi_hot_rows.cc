#include "data/files/multi_hot_rows.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "data/files/npy.h"
#include "data/files/npz.h"
#include "data/files/stored_rows.h"
#include "runtime/files/mapping_faults.h"

namespace tessera {
namespace {

constexpr const char* kEnds[] = {"_dense.npy", "_labels.npy", "_sparse_multi_hot.npz"};

bool IsNumber(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

int64_t Width(const Tensor& tensor) { return tensor.rank() == 1 ? 1 : tensor.dim(1); }

// Element i of an array that may begin at any address.
template <typename T>
T Element(const void* elements, int64_t i) {
  T element;
  std::memcpy(&element, static_cast<const char*>(elements) + i * int64_t{sizeof(T)}, sizeof(T));
  return element;
}

// Calls fn with a value of the array's type.
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

// Elements [begin, begin + count) as floats.
void CopyFloats(const Tensor& from, int64_t begin, int64_t count, float* out) {
  ForType(from.dtype(), [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, float>) {
      if (count > 0)
        std::memcpy(out, static_cast<const char*>(from.raw_data()) + begin * int64_t{sizeof(T)},
                    static_cast<size_t>(count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i)
        out[i] = static_cast<float>(Element<T>(from.raw_data(), begin + i));
    }
  });
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

template <typename From, typename Id>
void CopyIds(const Tensor& from, int64_t begin, int64_t count, int64_t rows, int64_t shift,
             Id* out) {
  const char* const ids = static_cast<const char*>(from.raw_data()) + begin * int64_t{sizeof(From)};
  int64_t i = 0;
  if constexpr (sizeof(From) == 4 && sizeof(Id) == 4)
    if (shift == 0) i = CopySmallIds(ids, count, rows, out);
  for (; i < count; ++i) {
    const auto id =
        static_cast<int64_t>(static_cast<uint64_t>(HashedId(Element<From>(ids, i), rows)) +
                             static_cast<uint64_t>(shift));
    out[i] = static_cast<Id>(HashedId(id, rows));
  }
}

}  // namespace

// ---- files

std::vector<std::string> MultiHotFiles(const std::string& day) {
  std::vector<std::string> files;
  for (const char* end : kEnds) files.push_back(day + end);
  return files;
}

std::optional<std::string> FindMultiHotDay(const std::string& path) {
  std::string day = path;
  for (const std::string end : kEnds)
    if (path.ends_with(end)) day = path.substr(0, path.size() - end.size());
  const std::vector<std::string> files = MultiHotFiles(day);
  if (!std::filesystem::exists(files[2])) return std::nullopt;
  for (const std::string& file : files)
    if (!std::filesystem::exists(file))
      throw Error(Format("{}: cannot be read: {} is not there", path, file));
  return day;
}

std::vector<std::string> MultiHotDays(const std::vector<std::string>& paths) {
  std::vector<std::string> days;
  for (const std::string& path : paths) {
    const std::optional<std::string> day = FindMultiHotDay(path);
    if (!day)
      throw Error(Format("{}: expected a day, whose files are NAME{}, NAME{} and NAME{}", path,
                         kEnds[0], kEnds[1], kEnds[2]));
    if (std::find(days.begin(), days.end(), *day) == days.end()) days.push_back(*day);
  }
  return days;
}

MultiHotRows::Day MultiHotRows::MapDay(const std::string& name) const {
  const std::vector<std::string> files = MultiHotFiles(name);
  Day day{.name = name, .dense = MapNpy(files[0]), .labels = MapNpy(files[1]), .ids = {}};
  const NpzFile archive(files[2]);
  std::string known;
  std::vector<std::pair<std::string, std::string>> arrays;  // feature's name, array's
  for (const std::string& array : archive.names()) {
    arrays.emplace_back(IsNumber(array) ? "cat_" + array : array, array);
    known += (known.empty() ? "" : ", ") + arrays.back().first;
  }
  for (const Feature& feature : features_) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& a) { return a.first == feature.array; });
    if (found == arrays.end())
      throw Error(Format("{}: there is no array for feature '{}'; there are {}", files[2],
                         feature.name, known));
    day.ids.push_back(archive.Array(found->second));
  }
  return day;
}

void MultiHotRows::CheckDay(const Day& day, const DataSchema& schema) const {
  const std::vector<std::string> files = MultiHotFiles(day.name);
  const auto check = [](bool good, const std::string& file, const std::string& expected,
                        const Tensor& got) {
    if (!good)
      throw Error(
          Format("{}: expected {}, got {} of {}", file, expected, got.shape(), got.dtype()));
  };
  check(day.dense.rank() == 2, files[0], "numbers [rows, columns]", day.dense);
  const int64_t rows = day.rows(), rank = day.labels.rank();
  check((rank == 1 || rank == 2) && day.labels.dim(0) == rows, files[1], Format("{} rows", rows),
        day.labels);
  for (size_t f = 0; f < features_.size(); ++f) {
    const Tensor& ids = day.ids[f];
    const std::string file = Format("{}: feature '{}'", files[2], features_[f].name);
    check(ids.rank() == 1 || ids.rank() == 2, file, "ids [rows] or [rows, ids]", ids);
    check(ids.dtype() == DType::kI32 || ids.dtype() == DType::kI64, file, "i32 or i64", ids);
    if (ids.dim(0) != rows)
      throw Error(Format("{}: expected {} rows, got {}", file, rows, ids.dim(0)));
  }
  const Day& first = days_.empty() ? day : days_.front();
  check(day.dense.dim(1) == first.dense.dim(1), files[0],
        Format("{} numbers a row, as in {}", first.dense.dim(1), first.name), day.dense);
  check(Width(day.labels) == Width(first.labels), files[1],
        Format("{} labels a row, as in {}", Width(first.labels), first.name), day.labels);
  check(schema.dense.empty() || schema.dense_size() == day.dense.dim(1), files[0],
        Format("{} numbers a row, those of data.dense", schema.dense_size()), day.dense);
  check(schema.labels.empty() || std::ssize(schema.labels) == Width(day.labels), files[1],
        Format("{} labels a row, those of data.labels", schema.labels.size()), day.labels);
}

MultiHotRows::MultiHotRows(const std::vector<std::string>& days, const DataSchema& schema,
                           const std::vector<CategoricalFeature>& features) {
  for (const CategoricalFeature& feature : features) {
    const FeatureEntry entry = schema.Feature(feature.name);
    const int64_t rows = CheckedHashSize(feature);
    features_.push_back({.name = feature.name,
                         .rows = rows,
                         .shift = entry.missing == MissingFeature::kRow0 ? 1 : 0,
                         .array = entry.from});
    keys_.push_back(feature.name);
    if (rows == 0 || rows > std::numeric_limits<int32_t>::max()) id_type_ = DType::kI64;
  }
  schema.CheckFeaturesRead(keys_);
  for (const std::string& name : days) {
    Day day = MapDay(name);
    CheckDay(day, schema);
    day.label_columns = Width(day.labels);
    first_.push_back(first_.back() + day.rows());
    days_.push_back(std::move(day));
  }
  TESSERA_CHECK(!days_.empty(), "no day of rows was given");
}

// ---- batches

std::vector<MultiHotRows::Run> MultiHotRows::RunsOf(std::span<const int64_t> rows) const {
  std::vector<Run> runs;
  for (const int64_t row : rows) {
    const auto after = std::upper_bound(first_.begin(), first_.end(), row);
    const auto d = static_cast<size_t>(after - first_.begin() - 1);
    const int64_t at = row - first_[d];
    if (!runs.empty() && runs.back().day == &days_[d] &&
        runs.back().begin + runs.back().count == at)
      ++runs.back().count;
    else
      runs.push_back({&days_[d], at, 1});
  }
  return runs;
}

template <typename Id>
KeyedJaggedTensor MultiHotRows::FeaturesOf(Context& ctx, std::span<const Run> runs,
                                           int64_t rows) const {
  const auto count = static_cast<int64_t>(features_.size());
  const Tensor lengths = Tensor::Empty(ctx, {count * rows}, DType::kI32);
  int32_t* length = lengths.data<int32_t>();
  int64_t ids = 0;
  for (size_t f = 0; f < features_.size(); ++f)
    for (const Run& run : runs) {
      const int64_t hot = Width(run.day->ids[f]);
      length = std::fill_n(length, run.count, static_cast<int32_t>(hot));
      ids += run.count * hot;
    }
  const Tensor values = Tensor::Empty(ctx, {ids}, DTypeOf<Id>::value);
  Id* out = values.data<Id>();
  for (size_t f = 0; f < features_.size(); ++f)
    for (const Run& run : runs) {
      const Tensor& from = run.day->ids[f];
      const int64_t hot = Width(from), size = run.count * hot;
      const auto copy = from.dtype() == DType::kI32 ? CopyIds<int32_t, Id> : CopyIds<int64_t, Id>;
      copy(from, run.begin * hot, size, features_[f].rows, features_[f].shift, out);
      out += size;
    }
  return KeyedJaggedTensor::FromLengthsSync(keys_, values, lengths);
}

Batch MultiHotRows::Gather(Context& ctx, std::span<const int64_t> rows) const {
  const std::vector<Run> runs = RunsOf(rows);
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t numbers = dense_columns(), labels = label_columns();
  Batch batch;
  batch.dense = Tensor::Empty(ctx, {count, numbers});
  batch.labels = Tensor::Empty(ctx, labels == 1 ? Shape{count} : Shape{count, labels});
  float *dense = batch.dense.data<float>(), *label = batch.labels.data<float>();
  for (const Run& run : runs) {
    CopyFloats(run.day->dense, run.begin * numbers, run.count * numbers, dense);
    CopyFloats(run.day->labels, run.begin * labels, run.count * labels, label);
    dense += run.count * numbers;
    label += run.count * labels;
  }
  batch.features = id_type_ == DType::kI32 ? FeaturesOf<int32_t>(ctx, runs, count)
                                           : FeaturesOf<int64_t>(ctx, runs, count);
  if (AnyMappingFaulted())
    for (const Run& run : runs) {
      CheckMapping(run.day->dense.raw_data());
      CheckMapping(run.day->labels.raw_data());
      for (const Tensor& ids : run.day->ids) CheckMapping(ids.raw_data());
    }
  return batch;
}

}  // namespace tessera
