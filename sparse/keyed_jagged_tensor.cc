#include "sparse/keyed_jagged_tensor.h"

#include <algorithm>
#include <utility>

#include "runtime/device/dispatch.h"
#include "runtime/ops/shaping.h"
#include "sparse/ids/id_check.h"
#include "sparse/keyed_jagged_tensor_build.h"
#include "sparse/ops/cast.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/packed_copy.h"
#include "sparse/python_text.h"

namespace tessera {
namespace {

std::string ListKeys(const std::vector<std::string>& keys) {
  if (keys.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < keys.size() && i < 20; ++i) text += (i ? ", \"" : "\"") + keys[i] + "\"";
  return keys.size() > 20 ? text + Format(", … ({} in all)", keys.size()) : text;
}

// Writes nothing where the index is there, so threads may look keys up then.
void MakeIndex(internal::KjtState& state) {
  if (!state.index.empty()) return;
  for (size_t f = 0; f < state.keys.size(); ++f)
    state.index[state.keys[f]] = static_cast<int64_t>(f);
}

// The bag of the value at `position` in the key whose bags are lengths [begin, …).
int64_t BagOf(const Tensor& all_lengths, int64_t begin, int64_t position) {
  const Tensor lengths = all_lengths.ToHost();
  return VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    int64_t bag = 0;
    for (int64_t left = position; left >= lengths.data<T>()[begin + bag]; ++bag)
      left -= lengths.data<T>()[begin + bag];
    return bag;
  });
}

}  // namespace

KeyedJaggedTensor::KeyedJaggedTensor()
    : KeyedJaggedTensor({.keys = {},
                         .values = internal::EmptyTensor(DType::kF32),
                         .lengths = internal::EmptyTensor(DType::kI32)}) {}

KeyedJaggedTensor::KeyedJaggedTensor(KeyedJaggedTensorArgs args)
    : state_(internal::CheckedKjtState(std::move(args))) {}

KeyedJaggedTensor KeyedJaggedTensor::FromLengthsSync(std::vector<std::string> keys, Tensor values,
                                                     Tensor lengths, Variable weights) {
  return KeyedJaggedTensor({.keys = std::move(keys),
                            .values = std::move(values),
                            .weights = std::move(weights),
                            .lengths = std::move(lengths)});
}

KeyedJaggedTensor KeyedJaggedTensor::FromOffsetsSync(std::vector<std::string> keys, Tensor values,
                                                     Tensor offsets, Variable weights) {
  return KeyedJaggedTensor({.keys = std::move(keys),
                            .values = std::move(values),
                            .weights = std::move(weights),
                            .offsets = std::move(offsets)});
}

const Variable& KeyedJaggedTensor::weights() const {
  TESSERA_CHECK(is_weighted(), "KeyedJaggedTensor with keys {}: it has no weights",
                ListKeys(keys()));
  return state_->weights;
}

const Tensor& KeyedJaggedTensor::lengths(Context& ctx) const {
  if (!state_->lengths.defined()) state_->lengths = LengthsFromOffsets(ctx, state_->offsets);
  return state_->lengths;
}

const Tensor& KeyedJaggedTensor::offsets(Context& ctx) const {
  if (!state_->offsets.defined()) state_->offsets = CompleteCumsum(ctx, state_->lengths);
  return state_->offsets;
}

const std::vector<int64_t>& KeyedJaggedTensor::length_per_key() const {
  if (!state_->totals_known) {
    internal::KjtState host = *state_;
    host.lengths = host.lengths.ToHost();
    host.offsets = host.offsets.ToHost();
    internal::SetTotals(CheckedTotals(internal::CheckOf(host)), state_.get());
  }
  return state_->length_per_key;
}

const std::vector<int64_t>& KeyedJaggedTensor::offset_per_key() const {
  length_per_key();
  return state_->offset_per_key;
}

void KeyedJaggedTensor::FindTotals(Context& ctx) const {
  if (!state_->totals_known)
    internal::SetTotals(CheckedTotalsSync(ctx, internal::CheckOf(*state_)), state_.get());
}

StridePerKeyPerRank KeyedJaggedTensor::stride_per_key_per_rank() const {
  if (variable_stride_per_key()) return state_->stride_per_key_per_rank;
  return StridePerKeyPerRank(keys().size(), {stride()});
}

const InverseIndices& KeyedJaggedTensor::inverse_indices() const {
  TESSERA_CHECK(state_->inverse_indices.indices.defined(),
                "KeyedJaggedTensor with keys {}: it has no inverse indices", ListKeys(keys()));
  return state_->inverse_indices;
}

const InverseIndices* KeyedJaggedTensor::inverse_indices_or_none() const {
  return state_->inverse_indices.indices.defined() ? &state_->inverse_indices : nullptr;
}

std::map<std::string, int64_t> KeyedJaggedTensor::index_per_key() const {
  std::map<std::string, int64_t> index;
  for (size_t f = 0; f < keys().size(); ++f) index[keys()[f]] = static_cast<int64_t>(f);
  return index;
}

int64_t KeyedJaggedTensor::Find(const std::string& key, int64_t likely) const {
  MakeIndex(*state_);
  const auto& index = state_->index;
  const auto at = static_cast<size_t>(likely);
  const bool each_once = index.size() == keys().size();  // else the last of them counts
  if (each_once && at < keys().size() && keys()[at] == key) return likely;
  const auto found = index.find(key);
  return found == index.end() ? -1 : found->second;
}

int64_t KeyedJaggedTensor::IndexOf(const std::string& key, int64_t likely) const {
  const int64_t index = Find(key, likely);
  TESSERA_CHECK(index >= 0, "KeyedJaggedTensor: no key \"{}\"; it has {}", key, ListKeys(keys()));
  return index;
}

JaggedTensor KeyedJaggedTensor::At(Context& ctx, const std::string& key) const {
  return AtIndex(ctx, IndexOf(key));
}

JaggedTensor KeyedJaggedTensor::AtIndex(Context& ctx, int64_t key_index) const {
  TESSERA_CHECK(key_index >= 0 && key_index < num_keys(), "KeyedJaggedTensor: key {} of {}",
                key_index, num_keys());
  FindTotals(ctx);
  const auto f = static_cast<size_t>(key_index);
  const int64_t begin = offset_per_key()[f], end = offset_per_key()[f + 1];
  const Variable weights =
      is_weighted() ? Narrow(ctx, state_->weights, 0, begin, end - begin) : Variable();
  return JaggedTensor(JaggedTensor::State{
      values().Rows(begin, end),
      weights,
      lengths(ctx).Rows(lengths_offset_per_key()[f], lengths_offset_per_key()[f + 1]),
      {}});
}

std::vector<std::pair<std::string, JaggedTensor>> KeyedJaggedTensor::ToDict(Context& ctx) const {
  FindTotals(ctx);
  std::vector<Variable> weights(keys().size());
  if (is_weighted() && num_keys() > 0)
    weights = tessera::Split(ctx, state_->weights, 0, length_per_key());
  std::vector<std::pair<std::string, JaggedTensor>> dict;
  for (size_t f = 0; f < keys().size(); ++f)
    dict.emplace_back(
        keys()[f],
        JaggedTensor(JaggedTensor::State{
            values().Rows(offset_per_key()[f], offset_per_key()[f + 1]),
            weights[f],
            lengths(ctx).Rows(lengths_offset_per_key()[f], lengths_offset_per_key()[f + 1]),
            {}}));
  return dict;
}

KeyedJaggedTensor KeyedJaggedTensor::FlattenLengths() const {
  auto state = std::make_shared<internal::KjtState>(*state_);
  state->inverse_indices = {};
  state->index.clear();
  return KeyedJaggedTensor(std::move(state));
}

KeyedJaggedTensor KeyedJaggedTensor::To(Context& ctx, DType weights_dtype) const {
  return WithWeights(Cast(ctx, state_->weights, weights_dtype));
}

KeyedJaggedTensor KeyedJaggedTensor::WithWeights(Variable weights) const {
  if (weights) {
    TESSERA_CHECK_EQ(weights.shape(), values().shape(), "weights, one a value");
    TESSERA_CHECK_EQ(weights.value().device(), values().device(), "device of the weights");
  }
  auto state = std::make_shared<internal::KjtState>(*state_);
  state->weights = std::move(weights);
  state->index.clear();
  return KeyedJaggedTensor(std::move(state));
}

KeyedJaggedTensor KeyedJaggedTensor::WithValues(Tensor values) const {
  TESSERA_CHECK_EQ(values.shape(), this->values().shape(), "values in place of others");
  TESSERA_CHECK_EQ(values.device(), this->values().device(), "device of the values");
  auto state = std::make_shared<internal::KjtState>(*state_);
  state->values = std::move(values);
  state->index.clear();
  return KeyedJaggedTensor(std::move(state));
}

KeyedJaggedTensor KeyedJaggedTensor::To(Context& ctx, Device device) const {
  if (values().device() == device) return *this;
  auto state = std::make_shared<internal::KjtState>(*state_);
  const std::vector<Tensor> moved =
      MovedTogether(ctx,
                    {values(), weights_or_none(), lengths_or_none(), offsets_or_none(),
                     state_->inverse_indices.indices},
                    device);
  state->values = moved[0];
  if (is_weighted()) state->weights = moved[1];
  state->lengths = moved[2];
  state->offsets = moved[3];
  state->inverse_indices.indices = moved[4];
  state->index.clear();
  return KeyedJaggedTensor(std::move(state));
}

const KeyedJaggedTensor& KeyedJaggedTensor::Sync(Context& ctx) const {
  FindTotals(ctx);
  lengths(ctx);
  offsets(ctx);
  MakeIndex(*state_);
  return *this;
}

const KeyedJaggedTensor& KeyedJaggedTensor::Unsync(Context& ctx) const {
  lengths(ctx);
  state_->offsets = {};
  return *this;
}

bool KeyedJaggedTensor::Validate(Context& ctx, const std::map<std::string, int64_t>& rows,
                                 std::string* problem) const {
  CheckDevice(ctx, "KeyedJaggedTensor::Validate", values());
  FindTotals(ctx);
  for (const auto& [key, limit] : rows) {
    const auto f = static_cast<size_t>(IndexOf(key));
    TESSERA_CHECK(IsInteger(values().dtype()), "KeyedJaggedTensor: key \"{}\": ids are {}", key,
                  values().dtype());
    const Tensor ids = values().Rows(offset_per_key()[f], offset_per_key()[f + 1]);
    const int64_t at = DispatchDevice(ctx.device(), [&, &limit = limit](auto on) {
      return internal::FirstOutsideSync(on, ctx, ids, std::max<int64_t>(limit, 0));
    });
    if (at == ids.numel()) continue;
    if (problem != nullptr)
      *problem = Format("key \"{}\", bag {}: id {} is outside [0, {})", key,
                        BagOf(lengths(ctx), lengths_offset_per_key()[f], at),
                        ids.Rows(at, at + 1).To(ctx, DType::kI64).ToVector<int64_t>()[0], limit);
    return false;
  }
  return true;
}

std::string ToString(Context& ctx, const KeyedJaggedTensor& kjt) {
  if (kjt.num_keys() == 0) return "KeyedJaggedTensor()\n";
  std::string text;
  for (const auto& [key, jt] : kjt.ToDict(ctx)) {
    const std::string values = PythonBags(jt.values(), jt.lengths(ctx));
    text += (text.empty() ? "" : ",\n") + ("    \"" + key + "\": ");
    text += !jt.is_weighted() ? values
                              : "{\n        \"values\": " + values + ",\n        \"weights\": " +
                                    PythonBags(jt.weights(), jt.lengths(ctx)) + "\n    }";
  }
  return "KeyedJaggedTensor({\n" + text + "\n})\n";
}

bool KjtIsEqual(Context& ctx, const KeyedJaggedTensor& a, const KeyedJaggedTensor& b) {
  if (a.keys() != b.keys() || a.stride() != b.stride() || a.is_weighted() != b.is_weighted() ||
      a.variable_stride_per_key() != b.variable_stride_per_key() ||
      a.stride_per_key_per_rank() != b.stride_per_key_per_rank())
    return false;
  const InverseIndices *x = a.inverse_indices_or_none(), *y = b.inverse_indices_or_none();
  if ((x == nullptr) != (y == nullptr)) return false;
  if (x != nullptr && (x->keys != y->keys || !SameBits(x->indices, y->indices))) return false;
  return SameBits(a.lengths(ctx), b.lengths(ctx)) && SameBits(a.values(), b.values()) &&
         SameBits(a.weights_or_none(), b.weights_or_none());
}

}  // namespace tessera
