#include "embedding/storage/rows_on_use.h"

#include <algorithm>
#include <cstring>

#include "runtime/virtual_memory.h"

namespace tessera {
namespace {

constexpr int64_t kRowsAtOnce = 1 << 12, kBits = 64;

int64_t RowBytes(const Tensor& part) { return part.dim(0) == 0 ? 0 : part.nbytes() / part.dim(0); }

// fn(begin, end) for the pieces of [0, size) that hold at most kRowsAtOnce, and whose neighbours
// `joined` joins: joined(i) says whether i goes on with the piece of i - 1.
template <typename Joined, typename Fn>
void ForEachRun(int64_t size, Joined&& joined, Fn&& fn) {
  for (int64_t begin = 0, end; begin < size; begin = end) {
    end = begin + 1;
    while (end < size && end - begin < kRowsAtOnce && joined(end)) ++end;
    fn(begin, end);
  }
}

std::span<const int64_t> Piece(std::span<const int64_t> rows, int64_t begin, int64_t end) {
  return rows.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

}  // namespace

RowsOnUse::RowsOnUse(std::span<const Tensor> parts, const RowStart& start)
    : start_(start), host_({.threads = 1, .seed = start.seed}) {
  for (const Tensor& part : parts)
    parts_.push_back(EmptyInVirtualMemory(part.shape(), part.dtype()));
  started_ = EmptyInVirtualMemory({(num_rows() + kBits - 1) / kBits}, DType::kI64);
}

int64_t RowsOnUse::ResidentBytes() const {
  int64_t bytes = tessera::ResidentBytes(started_);
  for (const Tensor& part : parts_) bytes += tessera::ResidentBytes(part);
  return bytes;
}

bool RowsOnUse::IsStarted(int64_t row) const {
  const auto word = static_cast<uint64_t>(started_.data<int64_t>()[row / kBits]);
  return (word >> (row % kBits) & 1) != 0;
}

StartedRows RowsOnUse::Started() const {
  StartedRows started{start_, {}};
  for (int64_t word = 0; word < started_.dim(0); ++word) {
    if (started_.data<int64_t>()[word] == 0) continue;
    const RunOfRows run{word * kBits, std::min((word + 1) * kBits, num_rows())};
    if (!started.runs.empty() && started.runs.back().end == run.begin)
      started.runs.back().end = run.end;
    else
      started.runs.push_back(run);
  }
  return started;
}

void RowsOnUse::CheckRows(std::span<const int64_t> rows) const {
  for (const int64_t row : rows)
    TESSERA_CHECK(0 <= row && row < num_rows(), "rows on use: row {} of a table of {}", row,
                  num_rows());
}

void RowsOnUse::Start(const Tensor& ids) {
  std::vector<int64_t> rows;
  VisitIndexType(ids.dtype(), "ids of rows that start", [&]<typename Index>() {
    for (const Index id : ids.span<Index>()) {
      const auto row = static_cast<int64_t>(id);
      if (0 <= row && row < num_rows() && !IsStarted(row)) rows.push_back(row);
    }
  });
  if (!rows.empty()) StartRows(std::move(rows));
}

void RowsOnUse::StartRows(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto at = [&](int64_t i) { return rows[static_cast<size_t>(i)]; };
  ForEachRun(
      std::ssize(rows), [&](int64_t i) { return at(i) == at(i - 1) + 1; },
      [&](int64_t begin, int64_t end) {
        const int64_t first = at(begin), count = end - begin;
        parts_[0].Rows(first, first + count).CopyFrom(host_, FirstRows(first, count));
      });
  for (const int64_t row : rows)
    started_.data<int64_t>()[row / kBits] |= static_cast<int64_t>(uint64_t{1} << (row % kBits));
  num_started_ += std::ssize(rows);
}

Tensor RowsOnUse::FirstRows(int64_t first, int64_t count) {
  return StartingRows(host_, start_, first, count, parts_[0].dim(1), parts_[0].dtype());
}

void RowsOnUse::ReadPiece(int part, std::span<const int64_t> rows, char* bytes) {
  const Tensor& from = parts_[static_cast<size_t>(part)];
  const auto width = static_cast<size_t>(RowBytes(from));
  const auto at = [&](int64_t i) { return rows[static_cast<size_t>(i)]; };
  ForEachRun(
      std::ssize(rows),
      [&](int64_t i) { return at(i) == at(i - 1) + 1 && IsStarted(at(i)) == IsStarted(at(i - 1)); },
      [&](int64_t begin, int64_t end) {
        char* const to = bytes + static_cast<size_t>(begin) * width;
        const size_t size = static_cast<size_t>(end - begin) * width;
        if (IsStarted(at(begin)))
          std::memcpy(
              to,
              static_cast<const char*>(from.raw_data()) + static_cast<size_t>(at(begin)) * width,
              size);
        else if (part > 0)
          std::memset(to, 0, size);
        else
          std::memcpy(to, FirstRows(at(begin), end - begin).raw_data(), size);
      });
}

void RowsOnUse::Read(int part, std::span<const int64_t> rows, void* bytes) {
  CheckRows(rows);
  ReadPiece(part, rows, static_cast<char*>(bytes));
}

// A row that has not started and is written as it is stays so.
void RowsOnUse::Write(int part, std::span<const int64_t> rows, const void* bytes) {
  CheckRows(rows);
  const Tensor& to = parts_.at(static_cast<size_t>(part));
  const auto width = static_cast<size_t>(RowBytes(to));
  std::vector<char> now(static_cast<size_t>(kRowsAtOnce) * width);
  for (int64_t begin = 0; begin < std::ssize(rows); begin += kRowsAtOnce) {
    const auto piece = Piece(rows, begin, std::min(begin + kRowsAtOnce, std::ssize(rows)));
    const char* const given = static_cast<const char*>(bytes) + static_cast<size_t>(begin) * width;
    ReadPiece(part, piece, now.data());
    std::vector<int64_t> changed;
    for (size_t i = 0; i < piece.size(); ++i)
      if (!IsStarted(piece[i]) &&
          std::memcmp(now.data() + i * width, given + i * width, width) != 0)
        changed.push_back(piece[i]);
    if (!changed.empty()) StartRows(std::move(changed));
    for (size_t i = 0; i < piece.size(); ++i)
      if (IsStarted(piece[i]))
        std::memcpy(static_cast<char*>(to.raw_data()) + static_cast<size_t>(piece[i]) * width,
                    given + i * width, width);
  }
}

}  // namespace tessera
