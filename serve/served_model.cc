#include "serve/served_model.h"

#include <algorithm>

#include "embedding/quantized/quantized_lookup.h"
#include "runtime/files.h"

namespace tessera::serve {

struct ServedModel::PackedBatch {
  int64_t batch = 0;
  Tensor dense;    // [B, dense_in]
  Tensor ids;      // [N] i64; rows that are there, or -1
  Tensor offsets;  // [F·B + 1] i64
};

namespace {

// The bags of one feature of one request.
struct RequestFeature {
  IndexArray ids, offsets;
  int64_t first_bag;
};

IndexArray Indices(const Tensor& tensor) {
  return {tensor.raw_data(), tensor.dtype() == DType::kI64};
}

RequestFeature FeatureOf(Context& ctx, const PredictRequest& request, const std::string& name,
                         size_t expected_at) {
  const KeyedJaggedTensor& kjt = request.features;
  const bool there = expected_at < kjt.keys().size() && kjt.keys()[expected_at] == name;
  const int64_t at = there ? static_cast<int64_t>(expected_at) : kjt.IndexOf(name);
  return {Indices(kjt.values()), Indices(kjt.offsets(ctx)), at * kjt.stride()};
}

// Copies ids as the rows they name, or as `unknown`.
class IdCopy {
 public:
  IdCopy(int64_t rows, const TableRemap* remap, int64_t unknown, int64_t* out)
      : rows_(rows), unknown_(unknown), remap_(remap), out_(out) {}

  void Append(const IndexArray& ids, int64_t begin, int64_t end) {
    if (remap_ == nullptr) return AppendRows(ids, begin, end, [](int64_t id) { return id; });
    AppendRows(ids, begin, end, [view = remap_->view()](int64_t id) { return view.RowOf(id); });
  }
  void Count(TableCounter& counter) const {
    counter.hits.fetch_add(ids_ - misses_, std::memory_order_relaxed);
    counter.misses.fetch_add(misses_, std::memory_order_relaxed);
  }
  int64_t* end() const { return out_; }

 private:
  template <typename Fn>
  void AppendRows(const IndexArray& ids, int64_t begin, int64_t end, const Fn& row_of) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = row_of(ids[i]);
      const bool known = IsRow(row, rows_);
      *out_++ = known ? row : unknown_;
      misses_ += known ? 0 : 1;
    }
    ids_ += end - begin;
  }

  const int64_t rows_, unknown_;
  const TableRemap* remap_;
  int64_t* out_;
  int64_t ids_ = 0, misses_ = 0;
};

void CheckFeatures(const KeyedJaggedTensor& features, int64_t batch) {
  const DType dtype = features.values().dtype();
  if (dtype != DType::kI32 && dtype != DType::kI64)
    throw Error(Format("features: expected ids i32 or i64, got {}", dtype));
  if (features.variable_stride_per_key())
    throw Error("features: expected as many bags for each, got a variable batch");
  if (features.is_weighted()) throw Error("features: expected none with weights");
  if (features.stride() != batch)
    throw Error(Format("features: expected {} bags each, as many as rows of dense, got {}", batch,
                       features.stride()));
}

std::vector<int> TableOfFeatures(const ModelSpec& spec) {
  std::vector<int> tables;
  for (size_t t = 0; t < spec.tables.size(); ++t)
    tables.insert(tables.end(), spec.tables[t].features.size(), static_cast<int>(t));
  return tables;
}

std::shared_ptr<TableCounter> CounterFor(
    const std::string& table, const std::vector<TableSpec>& before,
    const std::vector<std::shared_ptr<TableCounter>>& counters) {
  for (size_t t = 0; t < before.size(); ++t)
    if (before[t].name == table) return counters[t];
  return std::make_shared<TableCounter>();
}

}  // namespace

std::shared_ptr<const ServedModel> ServedModel::Load(const std::string& directory,
                                                     const ServedModel* before) {
  const std::string path = PathIn(directory, kModelFile);
  return std::shared_ptr<const ServedModel>(
      new ServedModel(directory, ParseModelSpec(ReadTextFile(path), path), before));
}

ServedModel::ServedModel(const std::string& directory, ModelSpec spec, const ServedModel* before)
    : spec_(std::move(spec)), features_(spec_.Features()), table_of_(TableOfFeatures(spec_)) {
  const MappedTensors tensors(PathIn(directory, spec_.weights));
  for (const TableSpec& table : spec_.tables) {
    layouts_.push_back(LayoutOf(table.codec, table.dim));
    rows_.push_back(tensors.At(RowsName(table), DType::kU8,
                               {table.stored_rows(), RowBytes(table.codec, table.dim)}));
    remaps_.emplace_back();
    if (table.pruned()) remaps_.back() = ReadTableRemap(tensors, table);
    counters_.push_back(before == nullptr
                            ? std::make_shared<TableCounter>()
                            : CounterFor(table.name, before->spec_.tables, before->counters_));
  }
  Context ctx({.threads = 1});
  std::unique_ptr<RankingNet> net = MakeDensePart(ctx, spec_);
  for (const NamedParameter& parameter : net->Parameters())
    parameter.variable.value().CopyFrom(
        ctx, tensors.At(parameter.name, spec_.dense_type, parameter.variable.shape())
                 .To(ctx, DType::kF32));
  net_ = std::move(net);
}

void ServedModel::Check(const PredictRequest& request) const {
  const Tensor& dense = request.dense;
  if (!dense.defined() || dense.dtype() != DType::kF32 || dense.rank() != 2 ||
      dense.dim(1) != spec_.net.dense_in)
    throw Error(Format("dense: expected f32 [B, {}], got {}", spec_.net.dense_in,
                       dense.defined() ? Format("{} {}", dense.dtype(), dense.shape()) : "none"));
  if (features_.empty()) return;
  CheckFeatures(request.features, request.size());
  if (request.features.keys() == features_) return;
  for (const std::string& name : features_)
    if (!request.features.Contains(name)) throw Error(Format("feature {} is missing", name));
}

Tensor ServedModel::PackDense(Context& ctx, std::span<const PredictRequest* const> requests,
                              int64_t batch) const {
  if (requests.size() == 1) return requests.front()->dense;
  const Tensor dense = Tensor::Empty(ctx, {batch, spec_.net.dense_in});
  int64_t row = 0;
  for (const PredictRequest* request : requests) {
    dense.Rows(row, row + request->size()).CopyFrom(ctx, request->dense);
    row += request->size();
  }
  return dense;
}

ServedModel::PackedBatch ServedModel::Pack(Context& ctx,
                                           std::span<const PredictRequest* const> requests) const {
  PackedBatch packed;
  int64_t most_ids = 0;
  for (const PredictRequest* request : requests) {
    packed.batch += request->size();
    most_ids += request->features.values().numel();
  }
  packed.dense = PackDense(ctx, requests, packed.batch);
  packed.ids = Tensor::Empty(ctx, {most_ids}, DType::kI64);
  packed.offsets = Tensor::Empty(ctx, {std::ssize(features_) * packed.batch + 1}, DType::kI64);
  int64_t *const ids = packed.ids.data<int64_t>(), *next = ids;
  int64_t* offset = packed.offsets.data<int64_t>();
  *offset++ = 0;
  for (size_t f = 0; f < features_.size(); ++f) {
    const auto t = static_cast<size_t>(table_of_[f]);
    const TableSpec& table = spec_.tables[t];
    IdCopy copy(table.rows, remaps_[t] ? &*remaps_[t] : nullptr,
                table.default_row ? table.rows : -1, next);
    for (const PredictRequest* request : requests) {
      const RequestFeature from = FeatureOf(ctx, *request, features_[f], f);
      for (int64_t b = from.first_bag; b < from.first_bag + request->size(); ++b) {
        copy.Append(from.ids, from.offsets[b], from.offsets[b + 1]);
        *offset++ = copy.end() - ids;
      }
    }
    copy.Count(*counters_[t]);
    next = copy.end();
  }
  return packed;
}

Tensor ServedModel::Lookup(Context& ctx, const PackedBatch& batch) const {
  const int64_t dim = spec_.dim(), width = std::ssize(features_) * dim;
  const Tensor pooled = Tensor::Empty(ctx, {batch.batch, width});
  std::vector<QuantizedLookupFeature> lookups(features_.size());
  for (size_t f = 0; f < features_.size(); ++f) {
    const auto t = static_cast<size_t>(table_of_[f]);
    QuantizedLookupFeature& lookup = lookups[f];
    lookup.rows = rows_[t].raw_data();
    lookup.num_rows = rows_[t].dim(0);
    lookup.dim = dim;
    lookup.layout = layouts_[t];
    lookup.ids = Indices(batch.ids);
    lookup.first_bag = static_cast<int64_t>(f) * batch.batch;
    lookup.num_bags = batch.batch;
    lookup.pooling = spec_.tables[t].pooling;
    lookup.output = pooled.data<float>() + static_cast<int64_t>(f) * dim;
    lookup.output_stride = width;
  }
  QuantizedLookup(
      ctx, {.features = lookups, .offsets = Indices(batch.offsets), .num_ids = batch.ids.numel()});
  return pooled;
}

std::vector<float> ServedModel::Predict(Context& ctx,
                                        std::span<const PredictRequest* const> requests) const {
  for (const PredictRequest* request : requests) Check(*request);
  const PackedBatch batch = Pack(ctx, requests);
  if (batch.batch == 0) return {};
  return ClickProbabilities(ctx, *net_, batch.dense, Lookup(ctx, batch)).ToVector<float>();
}

}  // namespace tessera::serve
