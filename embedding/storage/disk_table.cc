#include "embedding/storage/disk_table.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "embedding/storage/copy_rows.h"

namespace tessera {
namespace {

std::vector<int64_t> Count(int64_t first, int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

// fn(begin, the rows from there on) for pieces of at most `most`.
template <typename Fn>
void InPieces(std::span<const int64_t> rows, int64_t most, Fn&& fn) {
  for (size_t at = 0; at < rows.size(); at += static_cast<size_t>(most))
    fn(static_cast<int64_t>(at),
       rows.subspan(at, std::min(static_cast<size_t>(most), rows.size() - at)));
}

void CheckRows(std::span<const int64_t> rows, int64_t num_rows) {
  for (const int64_t row : rows)
    TESSERA_CHECK(0 <= row && row < num_rows, "rows on disk: row {} of a table of {}", row,
                  num_rows);
}

}  // namespace

std::vector<DiskTable::Part> DiskTable::PartsOf(const std::vector<Tensor>& tensors) {
  std::vector<Part> parts;
  for (const Tensor& tensor : tensors) {
    Shape row = tensor.shape();
    row[0] = 1;
    parts.push_back({row, tensor.dtype(), row.numel() * SizeOf(tensor.dtype()), 0});
  }
  std::vector<Part*> longest_first;
  for (Part& part : parts) longest_first.push_back(&part);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const Part* a, const Part* b) { return a->row_bytes > b->row_bytes; });
  int64_t offset = 0;
  for (Part* part : longest_first) {
    part->offset = offset;
    offset += part->row_bytes;
  }
  return parts;
}

DiskTable::DiskTable(std::shared_ptr<BlockIo> io, const std::vector<Tensor>& parts,
                     const RowStart& start, const RowLogOptions& options)
    : parts_(PartsOf(parts)),
      staged_bytes_(0),
      start_(start),
      host_({.threads = 1, .seed = start.seed}),
      log_(
          std::move(io), parts.at(0).dim(0),
          std::accumulate(parts_.begin(), parts_.end(), int64_t{0},
                          [](int64_t sum, const Part& part) { return sum + part.row_bytes; }),
          [this](int64_t row, char* record) { MakeRecord(row, record); }, options) {
  staged_bytes_ = (log_.record_bytes() + 15) / 16 * 16;
}

void DiskTable::MakeRecord(int64_t row, char* record) {
  std::memset(record, 0, static_cast<size_t>(log_.record_bytes()));
  const Part& weights = parts_[0];
  Tensor values = Tensor::Empty(host_, weights.row_shape);
  FillStart(host_, start_, row, values);
  values = values.To(host_, weights.dtype);
  std::memcpy(record + weights.offset, values.raw_data(), static_cast<size_t>(weights.row_bytes));
}

DiskStats DiskTable::stats() const {
  return {.rows = log_.stats(),
          .io = log_.io().stats(),
          .io_name = log_.io().name(),
          .direct = log_.direct(),
          .file_bytes = log_.file_bytes(),
          .memory_bytes = log_.memory_bytes()};
}

std::vector<char> DiskTable::Staged(std::span<const int64_t> rows) {
  std::vector<char> staged(rows.size() * static_cast<size_t>(staged_bytes_));
  log_.StartRead(rows, staged.data(), staged_bytes_)->Wait();
  return staged;
}

void DiskTable::ReadPart(int part, std::span<const int64_t> rows, void* bytes) {
  CheckRows(rows, this->rows());
  const int64_t row_bytes = this->row_bytes(part);
  InPieces(rows, kPieceRows, [&](int64_t begin, std::span<const int64_t> piece) {
    const std::vector<char> staged = Staged(piece);
    internal::CopyRows(static_cast<char*>(bytes) + begin * row_bytes, row_bytes,
                       staged.data() + offset(part), staged_bytes_, std::ssize(piece), row_bytes);
  });
}

void DiskTable::WritePart(int part, std::span<const int64_t> rows, const void* bytes) {
  CheckRows(rows, this->rows());
  const int64_t row_bytes = this->row_bytes(part);
  InPieces(rows, kPieceRows, [&](int64_t begin, std::span<const int64_t> piece) {
    log_.CheckWritten();
    std::vector<char> staged = Staged(piece);
    internal::CopyRows(staged.data() + offset(part), staged_bytes_,
                       static_cast<const char*>(bytes) + begin * row_bytes, row_bytes,
                       std::ssize(piece), row_bytes);
    log_.Write(piece, staged.data(), staged_bytes_);
  });
}

void DiskTable::ReadPart(int part, int64_t first, int64_t count, void* bytes) {
  ReadPart(part, Count(first, count), bytes);
}
void DiskTable::WritePart(int part, int64_t first, int64_t count, const void* bytes) {
  WritePart(part, Count(first, count), bytes);
}

void DiskTable::ForEachPiece(bool written,
                             const std::function<void(int64_t, const std::vector<Tensor>&)>& fn) {
  for (int64_t first = 0; first < rows(); first += kPieceRows) {
    log_.CheckWritten();
    const std::vector<int64_t> piece = Count(first, std::min(kPieceRows, rows() - first));
    const int64_t n = std::ssize(piece);
    std::vector<char> staged = Staged(piece);
    std::vector<Tensor> tensors;
    for (const Part& part : parts_) {
      Shape shape = part.row_shape;
      shape[0] = n;
      tensors.push_back(Tensor::EmptyHost(shape, part.dtype));
      internal::CopyRows(static_cast<char*>(tensors.back().raw_data()), part.row_bytes,
                         staged.data() + part.offset, staged_bytes_, n, part.row_bytes);
    }
    fn(first, tensors);
    if (!written) continue;
    for (size_t p = 0; p < parts_.size(); ++p)
      internal::CopyRows(staged.data() + parts_[p].offset, staged_bytes_,
                         static_cast<const char*>(tensors[p].raw_data()), parts_[p].row_bytes, n,
                         parts_[p].row_bytes);
    log_.Write(piece, staged.data(), staged_bytes_);
  }
}

}  // namespace tessera
