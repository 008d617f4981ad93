#include "bench/lab/named_rows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>

#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr int64_t kBlock = 1 << 20;  // bytes that are hashed at a time

int64_t RowBytes(const UpdateTable& table) { return table.dim * SizeOf(table.row_type); }
int64_t StateBytes(const UpdateTable& table) { return SizeOf(table.state_type); }
RowsAt RowAt(const UpdateTable& table, int64_t row) {
  return {.type = table.row_type, .columns = table.dim, .first = row};
}
RowsAt StateAt(const UpdateTable& table, int64_t row) {
  return {.type = table.state_type, .first = row};
}

// Rows ascending, each once.
std::vector<int64_t> RowsOf(const LookupArgs& lookup, const UpdateTable& table) {
  std::vector<int64_t> rows;
  for (const int index : table.features) {
    const LookupFeature& f = lookup.features[static_cast<size_t>(index)];
    const int64_t end = lookup.offsets[f.first_bag + f.num_bags];
    for (int64_t i = lookup.offsets[f.first_bag]; i < end; ++i)
      if (IsRow(f.ids[i], table.num_rows)) rows.push_back(f.ids[i]);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Adds the hashes of blocks, each with its address as a seed: their order is free.
void AddHashes(Context& ctx, const void* data, int64_t size, std::atomic<uint64_t>& sum) {
  const char* bytes = static_cast<const char*>(data);
  ParallelFor(ctx, (size + kBlock - 1) / kBlock, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const char* from = bytes + block * kBlock;
      const auto length = static_cast<size_t>(std::min(kBlock, size - block * kBlock));
      sum += XXH3_64bits_withSeed(from, length, reinterpret_cast<uintptr_t>(from));
    }
  });
}

}  // namespace

NamedRows::NamedRows(const UpdateArgs& args) {
  for (size_t t = 0; t < args.tables.size(); ++t) {
    const UpdateTable& table = args.tables[t];
    const auto add = [&](const char* what, const RowsAt& at, void* data, int64_t size) {
      pieces_.push_back({t, what, at, static_cast<char*>(data) + at.first * size, size});
    };
    for (const int64_t row : RowsOf(args.lookup, table)) {
      add("the weights", RowAt(table, row), table.weights, RowBytes(table));
      for (void* state : table.states)
        add("the state", StateAt(table, row), state, StateBytes(table));
    }
  }
}

NamedRows::Bytes NamedRows::Read() const {
  Bytes bytes;
  for (const Piece& piece : pieces_) bytes.insert(bytes.end(), piece.data, piece.data + piece.size);
  return bytes;
}

void NamedRows::Write(const Bytes& bytes) const {
  const char* from = bytes.data();
  for (const Piece& piece : pieces_) {
    std::copy_n(from, piece.size, piece.data);
    from += piece.size;
  }
}

void NamedRows::Compare(const Bytes& expected) const {
  const char* from = expected.data();
  for (const Piece& piece : pieces_) {
    CheckRows(Format("timed batch: table {}: {}", piece.table, piece.what), piece.at, from,
              piece.data);
    from += piece.size;
  }
}

uint64_t Fingerprint(Context& ctx, std::span<const UpdateTable> tables) {
  std::atomic<uint64_t> sum = 0;
  for (const UpdateTable& table : tables) {
    AddHashes(ctx, table.weights, table.num_rows * RowBytes(table), sum);
    for (const void* state : table.states)
      AddHashes(ctx, state, table.num_rows * StateBytes(table), sum);
  }
  return sum;
}

}  // namespace tessera::bench
