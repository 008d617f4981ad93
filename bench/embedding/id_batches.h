#ifndef TESSERA_BENCH_EMBEDDING_ID_BATCHES_H_
#define TESSERA_BENCH_EMBEDDING_ID_BATCHES_H_
// The shape of tables and batches, and batches of ids for it: made up, or a user's.
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/inputs/bag_lengths.h"
#include "bench/inputs/id_file.h"
#include "bench/inputs/id_stream.h"
#include "bench/inputs/skew.h"
#include "embedding/config/pooling.h"
#include "runtime/context.h"
#include "runtime/numbers/dtype.h"

namespace tessera::bench {

// Values of one table where tables differ.
struct OwnTable {
  int64_t dim = 128;
  BagLengths lengths = {};
  Skew skew = {};
};

struct Shape {
  std::vector<int64_t> rows = std::vector<int64_t>(8, 1'000'000);  // of each table
  int64_t dim = 128, batch = 4096;
  BagLengths lengths = {};  // drawn once: the same in every batch
  Skew skew = {};
  std::vector<OwnTable> own = {};  // of each table, in place of these; empty: all are alike
  PoolingType pooling = PoolingType::kSum;
  bool weighted = false;
  DType row_type = DType::kF32, state_type = DType::kF32, output_type = DType::kF32;
  // In place of `skew`, and of `lengths` if it has bags.
  std::shared_ptr<const IdFile> ids = nullptr;
  Remap remap = Remap::kNone;

  int64_t DimOf(size_t table) const { return own.empty() ? dim : own[table].dim; }
  const BagLengths& LengthsOf(size_t table) const {
    return own.empty() ? lengths : own[table].lengths;
  }
  const Skew& SkewOf(size_t table) const { return own.empty() ? skew : own[table].skew; }
  // Shapes with tables that are alike, one for each dim.
  std::vector<Shape> Alike() const;
  bool all_f32() const {
    return row_type == DType::kF32 && state_type == DType::kF32 && output_type == DType::kF32;
  }
};

// One batch: ids of all tables, table-major, and offsets of their bags, [T·B + 1].
struct IdBatch {
  std::vector<int64_t> ids, offsets;
};

// Batches of ids, a stream of them for each table. Of a file with one table, every table reads the
// ids from a place of its own; of one with several, table t reads the t-th. Batch after batch takes
// the next bags, or, where the file has none, the next ids, and begins anew at the end.
class IdBatches {
 public:
  // Throws Error for a file that has not the tables or bags that the shape asks for, and as
  // RowsOfIds does.
  IdBatches(const Shape& shape, uint64_t seed);
  IdBatch Next();

 private:
  struct FileTable {
    std::vector<int64_t> rows, offsets;
    int64_t at = 0;  // the next bag, or the next id
  };
  void OpenFile(const Shape& shape);
  void TakeBags(FileTable& table, IdBatch& batch) const;
  void TakeIds(FileTable& table, int64_t count, IdBatch& batch) const;

  int64_t batch_, tables_;
  std::vector<int64_t> drawn_offsets_{0};
  std::vector<IdStream> streams_;     // made up
  std::vector<FileTable> from_file_;  // or a user's
};
// Draws ids with a seed of the context's.
IdBatches DrawIdBatches(Context& ctx, const Shape& shape);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_ID_BATCHES_H_
