#ifndef TESSERA_SERVE_SERVED_MODEL_H_
#define TESSERA_SERVE_SERVED_MODEL_H_
// One version of a model directory (model_spec.h), loaded: tables where the file is mapped
// (served_tables.h), the dense part in memory, in f32. Nothing of it changes; any number of threads
// may call it, each with a context of its own, on the CPU.
//
// An id that names no row of its table, because it is unknown or because its row was pruned, reads
// the table's default row, if it has one; else it adds nothing, though it counts in the length of
// its bag (MEAN). Raw ids that are not in their table's map count as misses, whatever they read.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quant/row_layout.h"
#include "runtime/tensor.h"
#include "serve/dense_part.h"
#include "serve/id_ranges.h"
#include "serve/mapped_tensors.h"
#include "serve/predict_request.h"
#include "serve/raw_rows.h"
#include "serve/served_tables.h"
#include "serve/table_remap.h"

namespace tessera::serve {

// Ids that tables were asked for.
struct alignas(64) TableCounter {
  std::atomic<int64_t> hits{0};    // that name a row
  std::atomic<int64_t> misses{0};  // that don't
};

// The model's own files are not what they were: no request can be answered.
class BrokenModel : public Error {
 public:
  using Error::Error;
};

class ServedModel {
 public:
  // Examples that are computed together: more at once are no faster, and what they take between is
  // many times their size.
  static constexpr int64_t kMaxTogether = 4096;

  // Throws Error, naming the file, for a dense part that is not what `spec` says.
  static std::unique_ptr<const DensePart> ReadDensePart(const ModelSpec& spec,
                                                        const MappedTensors& tensors);
  // Remaps of pruned tables. Throws Error, naming the file, for those that make no sense.
  static std::vector<std::optional<TableRemap>> ReadRemaps(const ModelSpec& spec,
                                                           const MappedTensors& weights);

  // `tables` is a lease; `written`: when the newest of its files was. Counters of tables that
  // `before` has, too, go on. REQUIRES: all are of this spec.
  ServedModel(ModelSpec spec, std::string digest, std::shared_ptr<const ServedTables> tables,
              std::vector<std::optional<TableRemap>> remaps, std::unique_ptr<const DensePart> dense,
              std::chrono::system_clock::time_point written, const ServedModel* before);

  const ModelSpec& spec() const { return spec_; }
  // 16 hexadecimal digits of all that the model was made of: versions of two contents differ in it,
  // though a directory that was rolled back has given both one number.
  const std::string& digest() const { return digest_; }
  const ServedTables& tables() const { return *tables_; }
  // One a table; of pruned ones.
  const std::vector<std::optional<TableRemap>>& remaps() const { return remaps_; }
  // The order in which a request may bring them without being searched.
  const std::vector<std::string>& features() const { return features_; }
  // Makes requests of raw rows.
  const RawRows& raw_rows() const { return raw_rows_; }
  // ModelSpec::Outputs.
  const std::vector<std::string>& outputs() const { return outputs_; }
  // One a table.
  const TableCounter& counter(size_t table) const { return *counters_[table]; }
  const IdRanges& id_ranges() const { return id_ranges_; }
  // When the newest of its files was written, and when it was loaded.
  std::chrono::system_clock::time_point written() const { return written_; }
  std::chrono::system_clock::time_point loaded() const { return loaded_; }

  // Says which of its files was cut, or could not be read, since it was loaded, and its sizes: no
  // request can be answered then. "" where all are whole. Costs a system call for each file.
  std::string FileFailure() const;
  // Throws Error, saying what was expected, for a request that does not fit, and ReadOtherwise.
  void Check(const PredictRequest& request) const;
  // The answers to all examples of all requests, one example after the other, each of as many
  // numbers as ModelSpec::Outputs: click probabilities, or what else tasks foresee. They don't
  // depend on which requests come together beyond the rounding of products of other sizes. Throws
  // Error as Check does, and BrokenModel where the file was cut while it is in use.
  std::vector<float> Predict(Context& ctx, std::span<const PredictRequest* const> requests) const;

 private:
  // Some examples of a request.
  struct Part {
    const PredictRequest* request;
    int64_t first, count;
  };
  // Examples as one batch, features in the order of the model.
  struct PackedBatch;
  // A block of columns of the pooled rows: those of a table's feature, number `read` of
  // ModelSpec::Reads, or of one position of a sequence.
  struct Block {
    std::string feature;
    size_t read, table;
    std::optional<int64_t> position = {};
  };
  static std::vector<Block> BlocksOf(const ModelSpec& spec);
  PackedBatch Pack(Context& ctx, std::span<const Part> parts) const;
  Tensor PackDense(Context& ctx, std::span<const Part> parts, int64_t batch) const;
  // Fills the batch's ids, as Row, its offsets, and the weights that ids came with, if any.
  template <typename Row>
  void PackIds(Context& ctx, std::span<const Part> parts, const PackedBatch& packed) const;
  // Fills the batch's weights with those of ids' positions.
  void PackPositionWeights(Context& ctx, PackedBatch& packed) const;
  // Appends the scores of one batch.
  void PredictParts(Context& ctx, std::span<const Part> parts, std::vector<float>& scores) const;
  // Whether ids name rows as they come, bag by bag, and have no weights by their positions: there
  // is no attention, and no table has a remap, raw ids or a default row.
  bool IdsAreRows() const;
  // A large batch of one request alone, without a copy of its ids.
  PackedBatch AsItCame(Context& ctx, const Part& part) const;
  Tensor Lookup(Context& ctx, const PackedBatch& batch) const;
  void FindMappings();

  ModelSpec spec_;
  RawRows raw_rows_;
  IdRanges id_ranges_;
  std::string digest_;
  std::vector<std::string> features_, outputs_;  // of requests; of answers
  std::vector<Block> blocks_;
  std::map<std::string, int64_t> max_bag_lengths_;  // of features that have positions
  bool narrow_rows_ = true;                         // whether every row's number is an i32
  std::shared_ptr<const ServedTables> tables_;
  std::vector<Tensor> rows_;           // of each table: u8 [stored rows, bytes]
  std::vector<const void*> mappings_;  // of files, each once, that rows, remaps and raw ids lie in
  std::vector<RowLayout> layouts_;
  std::vector<std::optional<TableRemap>> remaps_;  // of pruned tables
  std::vector<std::shared_ptr<TableCounter>> counters_;
  std::unique_ptr<const DensePart> dense_;
  std::chrono::system_clock::time_point written_, loaded_ = std::chrono::system_clock::now();
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_SERVED_MODEL_H_
