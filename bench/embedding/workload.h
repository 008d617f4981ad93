#ifndef TESSERA_BENCH_EMBEDDING_WORKLOAD_H_
#define TESSERA_BENCH_EMBEDDING_WORKLOAD_H_
// Tables, ids and gradients of one shape in host memory, with optimizer states, and the grouping by
// row that the bare loops are given for free.
#include <cstdint>
#include <span>
#include <vector>

#include "bench/embedding/bare_loops.h"
#include "bench/inputs/bag_lengths.h"
#include "bench/inputs/id_stream.h"
#include "bench/inputs/skew.h"
#include "embedding/lookup/lookup.h"
#include "embedding/update/update.h"
#include "runtime/tensor.h"

namespace tessera::bench {

struct Shape {
  std::vector<int64_t> rows = std::vector<int64_t>(8, 1'000'000);  // of each table
  int64_t dim = 128, batch = 4096;
  BagLengths lengths = {};  // drawn once: the same in every batch
  Skew skew = {};
  PoolingType pooling = PoolingType::kSum;
  bool weighted = false;
};

// Batches of ids, a stream of them for each table.
class IdBatches {
 public:
  IdBatches(const Shape& shape, uint64_t seed);
  // Offsets of the bags of all tables, [T·B + 1]: those of every batch.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  // The next batch: ids of all tables, table-major.
  std::vector<int64_t> Next();

 private:
  int64_t batch_;
  std::vector<int64_t> offsets_;
  std::vector<IdStream> streams_;
};
// Draws ids with a seed of the context's.
IdBatches DrawIdBatches(Context& ctx, const Shape& shape);

class Workload {
 public:
  static constexpr int kBatches = 4;

  // States: as many of each kind as the rules to be run have at most.
  Workload(Context& ctx, const Shape& shape, int element_states, int row_states);

  // Batch `round` modulo kBatches; with the gradient in the output's place for an update.
  LookupArgs Lookup(int round, bool gradient);
  std::vector<UpdateTable> Tables(const AnyRule& rule) const;

  BareGather Gather(int round) const;
  // REQUIRES: pooling is not NONE.
  BareUpdate Bare(int round, const AnyRule& rule, int64_t ahead) const;

  const Shape& shape() const { return shape_; }
  const Tensor& output() const { return output_; }
  const Tensor& grad() const { return grad_; }
  int64_t num_ids() const { return offsets_.back(); }
  int64_t distinct_rows() const;
  double LookupBytes() const;
  // Every distinct row and its state in and out, every gradient once.
  double UpdateBytes(const AnyRule& rule) const;

 private:
  struct Grouping {
    std::vector<int64_t> unique, table_start{0}, occurrence_start{0};
    std::vector<int32_t> grad_rows;
  };
  const std::vector<int64_t>& ids(int round) const {
    return ids_[static_cast<size_t>(round % kBatches)];
  }
  void AddBatch(std::vector<int64_t> ids);
  void AddTable(Grouping& g, std::span<const int64_t> ids, int64_t table) const;
  int64_t num_tables() const { return static_cast<int64_t>(shape_.rows.size()); }

  Shape shape_;
  std::vector<Tensor> weights_;
  std::vector<std::vector<Tensor>> element_states_, row_states_;  // [state][table]
  std::vector<float*> pointers_;
  std::vector<std::vector<float*>> element_pointers_;
  std::vector<float*> row_pointers_;
  Tensor output_, grad_, sample_weights_;
  std::vector<int64_t> offsets_;
  std::vector<std::vector<int64_t>> ids_;
  std::vector<Grouping> groupings_;
  std::vector<LookupFeature> features_;
};

// Fastest distance of the bare update's prefetch on this machine.
int64_t BestAhead(Context& ctx, const Workload& work, const AnyRule& rule);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_WORKLOAD_H_
