#include "embedding/pools/keyed_jagged_tensor_pool.h"

#include <map>
#include <utility>

namespace tessera {
namespace {

// key_lengths [n, F] of a state dict, checked, as lengths of rows [n, F + 1] on the host.
Tensor WithPadding(const BagRowLayout& layout, const Tensor& key_lengths) {
  const std::vector<int32_t> given = key_lengths.ToVector<int32_t>();
  const int64_t n = key_lengths.dim(0), keys = layout.num_keys();
  const Tensor rows = Tensor::EmptyHost({n, keys + 1}, DType::kI32);
  const int32_t* in = given.data();
  auto* out = rows.data<int32_t>();
  for (int64_t i = 0; i < n; ++i) {
    int64_t padding = layout.row_length();
    for (int64_t key = 0; key < keys; ++key) {
      const int32_t length = *out++ = *in++;
      const auto& [name, most] = layout.feature_max_lengths()[static_cast<size_t>(key)];
      TESSERA_CHECK(0 <= length && length <= most,
                    "KeyedJaggedTensorPool: key_lengths of example {} say {} values of feature {}; "
                    "at most {} fit",
                    i, length, name, most);
      padding -= length;
    }
    *out++ = static_cast<int32_t>(padding);
  }
  return rows;
}

}  // namespace

KeyedJaggedTensorPool::KeyedJaggedTensorPool(Context& ctx, int64_t pool_size,
                                             FeatureMaxLengths feature_max_lengths,
                                             KeyedJaggedTensorPoolOptions options)
    : layout_(std::move(feature_max_lengths), options.values_dtype, options.is_weighted),
      values_(ctx, pool_size, layout_.row_length(), options.values_dtype),
      lengths_(layout_.Zeros(ctx, pool_size).lengths) {
  if (options.is_weighted) weights_.emplace(ctx, pool_size, layout_.row_length());
}

KeyedJaggedTensor KeyedJaggedTensorPool::Lookup(Context& ctx, const Tensor& ids) const {
  return layout_.Unpack(ctx, LookupRows(ctx, ids));
}

void KeyedJaggedTensorPool::Update(Context& ctx, const Tensor& ids,
                                   const KeyedJaggedTensor& values) {
  TESSERA_CHECK_EQ(values.stride(), ids.numel(), "KeyedJaggedTensorPool: examples, one an id");
  UpdateRows(ctx, ids, layout_.Pack(ctx, values));
}

BagRows KeyedJaggedTensorPool::LookupRows(Context& ctx, const Tensor& ids) const {
  return {values_.Lookup(ctx, ids), lengths_.Lookup(ctx, ids),
          weights_ ? weights_->Lookup(ctx, ids) : Tensor()};
}

void KeyedJaggedTensorPool::UpdateRows(Context& ctx, const Tensor& ids, const BagRows& rows) {
  lengths_.Update(ctx, ids, rows.lengths);
  values_.Update(ctx, ids, rows.values);
  if (weights_) weights_->Update(ctx, ids, rows.weights);
}

std::vector<NamedTensor> KeyedJaggedTensorPool::Views(const std::string& prefix) const {
  std::vector<NamedTensor> views = {
      {prefix + "values", values_.pool()},
      {prefix + "key_lengths", lengths_.pool().Narrow(1, 0, layout_.num_keys())}};
  if (weights_) views.push_back({prefix + "weights", weights_->pool()});
  return views;
}

std::vector<NamedTensor> KeyedJaggedTensorPool::StateDict(Context& ctx,
                                                          const std::string& prefix) const {
  std::vector<NamedTensor> state = Views(prefix);
  for (NamedTensor& t : state) t.tensor = t.tensor.Clone(ctx);
  return state;
}

void KeyedJaggedTensorPool::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                                          const std::string& prefix) {
  std::map<std::string, Tensor> given;
  for (const NamedTensor& t : tensors) given[t.name] = t.tensor;
  const std::vector<NamedTensor> own = Views(prefix);
  TESSERA_CHECK_EQ(tensors.size(), own.size(), "KeyedJaggedTensorPool: tensors of the state");
  for (const NamedTensor& t : own) {
    TESSERA_CHECK(given.count(t.name) == 1, "KeyedJaggedTensorPool: {} is missing", t.name);
    const Tensor& tensor = given[t.name];
    TESSERA_CHECK(tensor.shape() == t.tensor.shape() && tensor.dtype() == t.tensor.dtype(),
                  "KeyedJaggedTensorPool: {} is {} {}; expected {} {}", t.name, tensor.dtype(),
                  tensor.shape(), t.tensor.dtype(), t.tensor.shape());
  }
  lengths_.pool().CopyFrom(ctx, WithPadding(layout_, given[prefix + "key_lengths"]));
  values_.pool().CopyFrom(ctx, given[prefix + "values"]);
  if (weights_) weights_->pool().CopyFrom(ctx, given[prefix + "weights"]);
}

}  // namespace tessera
