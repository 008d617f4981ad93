#ifndef TESSERA_BENCH_EMBEDDING_WORKLOAD_H_
#define TESSERA_BENCH_EMBEDDING_WORKLOAD_H_
// Tables, ids and gradients of one shape in host memory, with optimizer states, and the grouping by
// row that the bare loops are given for free.
#include <cstdint>
#include <vector>

#include "bench/embedding/any_loops.h"
#include "bench/embedding/bare_loops.h"
#include "bench/embedding/id_batches.h"
#include "bench/embedding/loop_tables.h"
#include "bench/facts/row_facts.h"
#include "embedding/lookup/lookup.h"
#include "embedding/update/update.h"
#include "runtime/tensor.h"

namespace tessera::bench {

class Workload {
 public:
  static constexpr int kBatches = 4;

  // States: as many of each kind as the rules to be run have at most.
  Workload(Context& ctx, const Shape& shape, int element_states, int row_states);

  // Batch `round` modulo kBatches; with the gradient in the output's place for an update.
  LookupArgs Lookup(int round, bool gradient);
  std::vector<UpdateTable> Tables(const AnyRule& rule) const;

  // The machine's limit: a bare loop over the rows of a batch, by that of bare_loops.h where it is
  // compiled for the shape, else by that of any_loops.h.
  void RunGather(Context& ctx, int round) const;
  void RunBareUpdate(Context& ctx, int round, const AnyRule& rule, int64_t ahead) const;

  const Shape& shape() const { return shape_; }
  // Fills the output with a pattern that no lookup writes.
  void ClearOutput();
  int64_t num_ids() const;  // of a batch, their mean
  int64_t distinct_rows() const;
  // The row of every id, every id and every output, once each, as DeviceWorkload counts.
  double LookupBytes() const;
  // Every distinct row and its states in and out, every id and every gradient once.
  double UpdateBytes(const AnyRule& rule) const;
  // ReuseFacts (row_facts.h) of a batch, and "operations" of a call. A lookup adds every element of
  // the row of every id (after a product with its weight: two); a mean divides every element of
  // every output. An update does so with gradients, and its rule's operations (rule_operations.h)
  // with every element of every distinct row; they are left out where those are not known.
  Facts LookupFacts() const;
  Facts UpdateFacts(const AnyRule& rule) const;
  // CacheHitFacts of the batches in turn, on this machine's caches. An update reads distinct rows.
  Facts LookupHits(int threads, bool cold);
  Facts UpdateHits(const AnyRule& rule, int threads, bool cold);

 private:
  // The tables of a loop over batch `round`, with the output or the gradient.
  std::vector<LoopTable> LoopTables(size_t batch, const Tensor& pooled) const;
  BareGather Gather(int round) const;
  BareUpdate Bare(int round, const AnyRule& rule, int64_t ahead) const;
  AnyGather GatherAny(int round) const;
  AnyUpdate UpdateAny(int round, const AnyRule& rule, int64_t ahead) const;
  bool HasBareLoop() const;
  struct Grouping {
    std::vector<int64_t> unique, table_start{0}, occurrence_start{0};
    std::vector<int32_t> grad_rows;
  };
  const std::vector<int64_t>& ids(int round) const {
    return batches_[static_cast<size_t>(round % kBatches)].ids;
  }
  const std::vector<int64_t>& offsets(int round) const {
    return batches_[static_cast<size_t>(round % kBatches)].offsets;
  }
  void AddGrouping(const IdBatch& batch);
  void AddTable(Grouping& g, const IdBatch& batch, int64_t table) const;
  double PoolingOperations() const;
  // The distinct rows of a batch, without and with their states; of either, those of one row, where
  // tables differ the mean.
  double ReadRowBytes() const {
    return static_cast<double>(distinct_elements() * SizeOf(shape_.row_type));
  }
  double UpdatedRowBytes(const AnyRule& rule) const;
  double MeanRow(double bytes_of_distinct) const;
  // The elements of rows that a batch names, of those that differ, and of outputs: their means.
  int64_t elements() const;
  int64_t distinct_elements() const;
  int64_t output_elements() const;
  int64_t num_tables() const { return static_cast<int64_t>(shape_.rows.size()); }

  Shape shape_;
  std::vector<Tensor> weights_;
  std::vector<std::vector<Tensor>> element_states_, row_states_;  // [state][table]
  std::vector<void*> pointers_;
  std::vector<std::vector<void*>> element_pointers_;
  std::vector<void*> row_pointers_;
  Tensor output_, grad_, sample_weights_;
  std::vector<IdBatch> batches_;
  std::vector<Grouping> groupings_;
  std::vector<std::vector<LoopTable>> gathers_, updates_;  // LoopTables of each batch
  std::vector<LookupFeature> features_;
};

// Fastest distance of the bare update's prefetch on this machine.
int64_t BestAhead(Context& ctx, const Workload& work, const AnyRule& rule);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_WORKLOAD_H_
