#ifndef TESSERA_BENCH_QUANT_STORED_TABLES_H_
#define TESSERA_BENCH_QUANT_STORED_TABLES_H_
// Tables of stored rows, and batches of ids for them. The same thousand rows come again and again:
// what a row holds changes no time.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/embedding/workload.h"
#include "bench/harness/topic.h"
#include "bench/quant/bare_rows.h"
#include "embedding/quantized/quantized_lookup.h"
#include "quant/row_codec.h"
#include "runtime/tensor.h"

namespace tessera::bench {

// The codec of a point: rows lie without padding, as FBGEMM has them on a CPU, unless the name says
// how they are aligned, as "int8@4" does.
RowCodec CodecOf(const Point& point);
// "codec", whose help begins so.
Axis CodecAxis(const std::string& help);

class StoredTables {
 public:
  static constexpr int kBatches = 4;

  // Outputs are f32 or f16.
  StoredTables(Context& ctx, const Shape& shape, const RowCodec& codec, DType output);

  // Batch `round` modulo kBatches.
  QuantizedLookupArgs Lookup(int round);
  // Fills the output with a pattern that no lookup writes.
  void ClearOutput();
  // Compares every bit that a lookup of batch 0 wrote with the obvious loop over decoded rows.
  // Throws Error where one is wrong.
  void CheckOutput(Context& ctx);

  // REQUIRES: HasBare().
  BareRows Bare(int round) const;
  // Rows of outputs are whole cache lines, and sequences of one length.
  bool HasBare() const;
  int64_t num_ids() const { return offsets_.back(); }
  // Rows read, outputs written.
  double Bytes() const { return static_cast<double>(num_ids() * row_bytes_ + output_.nbytes()); }

 private:
  bool sequence() const { return shape_.pooling == PoolingType::kNone; }
  int64_t num_tables() const { return static_cast<int64_t>(shape_.rows.size()); }
  const std::vector<int32_t>& ids(int round) const {
    return ids_[static_cast<size_t>(round % kBatches)];
  }
  Tensor StoredTable(Context& ctx, int64_t rows) const;
  void DrawBatches(uint64_t seed);
  // For bag b of table t: its first id, and its (first) row of the output.
  int64_t FirstId(int64_t t, int64_t b) const {
    return offsets_[static_cast<size_t>(t * shape_.batch + b)];
  }

  Shape shape_;
  RowCodec codec_;
  int64_t row_bytes_;
  Tensor encoded_;  // the rows that differ
  std::vector<Tensor> tables_;
  std::vector<const uint8_t*> pointers_;
  std::vector<int32_t> offsets_, each_;  // of bags; of bags of one id
  std::vector<std::vector<int32_t>> ids_;
  std::vector<float> weights_;
  Tensor output_;
  std::vector<QuantizedLookupFeature> features_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_QUANT_STORED_TABLES_H_
