#include "sharding/checkpoint/checkpoint_rows.h"

#include <algorithm>
#include <concepts>
#include <cstring>

#include "runtime/staging.h"

namespace tessera {
namespace {

double Widened(auto value) {
  if constexpr (std::is_arithmetic_v<decltype(value)>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <typename T>
T Narrowed(double value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return T(static_cast<float>(value));
}

}  // namespace

int64_t SharedRows(const Shard& a, const Shard& b) {
  return std::min(a.row_offset + a.rows, b.row_offset + b.rows) -
         std::max(a.row_offset, b.row_offset);
}

int64_t SharedColumns(const Shard& a, const Shard& b) {
  return std::min(a.column_offset + a.columns, b.column_offset + b.columns) -
         std::max(a.column_offset, b.column_offset);
}

RowReader::RowReader(const Shard& wanted, DType dtype, bool per_row, std::vector<StoredPart> parts)
    : wanted_(wanted), dtype_(dtype), per_row_(per_row), parts_(std::move(parts)) {}

int64_t RowReader::row_bytes() const { return (per_row_ ? 1 : wanted_.columns) * SizeOf(dtype_); }

void RowReader::ForEachBlock(const std::function<void(int64_t, int64_t)>& fn) const {
  ForEachBlock({{0, wanted_.rows}}, fn);
}

void RowReader::ForEachBlock(const std::vector<RunOfRows>& runs,
                             const std::function<void(int64_t, int64_t)>& fn) const {
  const int64_t block = std::max<int64_t>(1, kPieceBytes / row_bytes());
  for (const RunOfRows& run : runs)
    for (int64_t first = run.begin; first < run.end; first += block)
      fn(first, std::min(block, run.end - first));
}

void RowReader::Read(int64_t first, int64_t count, void* out) {
  const int64_t begin = wanted_.row_offset + first, end = begin + count;
  char* to = static_cast<char*>(out);
  if (per_row_) return ReadStatistics(begin, end, to);
  for (const StoredPart& part : parts_) {
    const int64_t from = std::max(begin, part.shard.row_offset),
                  until = std::min(end, part.shard.row_offset + part.shard.rows);
    if (from < until) ReadElements(part, from, until, to + (from - begin) * row_bytes());
  }
}

void RowReader::ReadBytes(int64_t begin, int64_t count, void* out) {
  const int64_t width = row_bytes(), first = begin / width,
                rows = (begin + count + width - 1) / width - first;
  if (begin == first * width && count == rows * width) return Read(first, rows, out);
  std::vector<char> bytes(static_cast<size_t>(rows * width));
  Read(first, rows, bytes.data());
  std::memcpy(out, bytes.data() + (begin - first * width), static_cast<size_t>(count));
}

// Reads rows [begin, end) of the table, all of which the part has; the first one goes to `out`.
void RowReader::ReadElements(const StoredPart& part, int64_t begin, int64_t end, char* out) {
  const Shard& s = part.shard;
  const int64_t size = SizeOf(dtype_), shared = SharedColumns(s, wanted_),
                column = std::max(s.column_offset, wanted_.column_offset);
  const auto at = [&](int64_t row) {
    return ((row - s.row_offset) * s.columns + column - s.column_offset) * size;
  };
  if (shared == s.columns && shared == wanted_.columns)
    return part.read(at(begin), (end - begin) * shared * size, out);
  out += (column - wanted_.column_offset) * size;
  for (int64_t row = begin; row < end; ++row, out += row_bytes())
    part.read(at(row), shared * size, out);
}

void RowReader::ReadNumbers(const StoredPart& part, int64_t begin, int64_t end, void* out) {
  const int64_t size = SizeOf(dtype_);
  part.read((begin - part.shard.row_offset) * size, (end - begin) * size, out);
}

void RowReader::ReadStatistics(int64_t begin, int64_t end, char* out) {
  std::vector<double> sums(static_cast<size_t>(end - begin), 0);
  std::vector<bool> summed(sums.size(), false);
  VisitDType(dtype_, [&]<typename T>() {
    std::vector<char> bytes;
    T* to = reinterpret_cast<T*>(out);
    for (const StoredPart& part : parts_) {
      const int64_t from = std::max(begin, part.shard.row_offset),
                    until = std::min(end, part.shard.row_offset + part.shard.rows);
      if (from >= until) continue;
      const int64_t columns = SharedColumns(part.shard, wanted_);
      if (columns == wanted_.columns) {
        ReadNumbers(part, from, until, to + (from - begin));
        continue;
      }
      bytes.resize(static_cast<size_t>(until - from) * sizeof(T));
      ReadNumbers(part, from, until, bytes.data());
      const T* numbers = reinterpret_cast<const T*>(bytes.data());
      for (int64_t row = from; row < until; ++row) {
        const size_t i = static_cast<size_t>(row - begin);
        sums[i] += static_cast<double>(columns) * Widened(numbers[row - from]);
        summed[i] = true;
      }
    }
    for (size_t i = 0; i < sums.size(); ++i)
      if (summed[i]) to[i] = Narrowed<T>(sums[i] / static_cast<double>(wanted_.columns));
  });
}

}  // namespace tessera
