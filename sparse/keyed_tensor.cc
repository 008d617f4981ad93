#include "sparse/keyed_tensor.h"

#include <algorithm>
#include <utility>

#include "runtime/ops/shaping.h"
#include "sparse/ops/cast.h"
#include "sparse/python_text.h"
#include "sparse/regroup.h"

namespace tessera {
KeyedTensor::KeyedTensor(std::vector<std::string> keys, std::vector<int64_t> length_per_key,
                         Variable values, int key_dim)
    : keys_(std::move(keys)),
      length_per_key_(std::move(length_per_key)),
      values_(std::move(values)),
      key_dim_(key_dim) {
  TESSERA_CHECK(values_.defined(), "KeyedTensor: no values");
  TESSERA_CHECK(key_dim >= 0 && key_dim < values_.rank(), "KeyedTensor: key_dim {} of values {}",
                key_dim, values_.shape());
  TESSERA_CHECK_EQ(keys_.size(), length_per_key_.size(), "KeyedTensor: keys and lengths");
  offset_per_key_.reserve(keys_.size() + 1);
  for (size_t i = 0; i < keys_.size(); ++i) {
    TESSERA_CHECK_GE(length_per_key_[i], 0, "KeyedTensor: length of key \"{}\"", keys_[i]);
    offset_per_key_.push_back(offset_per_key_.back() + length_per_key_[i]);
  }
  TESSERA_CHECK_EQ(offset_per_key_.back(), values_.dim(key_dim),
                   "KeyedTensor: the sum of lengths, and dimension {} of values", key_dim);
}

KeyedTensor KeyedTensor::FromTensorList(Context& ctx, std::vector<std::string> keys,
                                        const std::vector<Variable>& tensors, int key_dim) {
  TESSERA_CHECK(!tensors.empty(), "KeyedTensor::FromTensorList: no tensors");
  TESSERA_CHECK_EQ(keys.size(), tensors.size(), "KeyedTensor::FromTensorList: keys and tensors");
  TESSERA_CHECK(key_dim >= 0 && key_dim < tensors[0].rank(),
                "KeyedTensor::FromTensorList: key_dim {} of a tensor {}", key_dim,
                tensors[0].shape());
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TESSERA_CHECK_EQ(tensors[i].rank(), tensors[0].rank(),
                     "KeyedTensor::FromTensorList: key \"{}\"", keys[i]);
    lengths.push_back(tensors[i].dim(key_dim));
  }
  return KeyedTensor(std::move(keys), std::move(lengths), Concat(ctx, tensors, key_dim), key_dim);
}

std::map<std::string, int64_t> KeyedTensor::index_per_key() const {
  std::map<std::string, int64_t> index;
  for (size_t i = 0; i < keys_.size(); ++i) index[keys_[i]] = static_cast<int64_t>(i);
  return index;
}

int64_t KeyedTensor::IndexOf(const std::string& key) const {
  const auto found = std::find(keys_.rbegin(), keys_.rend(), key);
  if (found != keys_.rend()) return keys_.rend() - found - 1;
  std::string known;
  for (const std::string& k : keys_) known += (known.empty() ? "\"" : ", \"") + k + "\"";
  TESSERA_FAIL("KeyedTensor: no key \"{}\"; it has {}", key, known);
}

Variable KeyedTensor::At(Context& ctx, const std::string& key) const {
  const auto i = static_cast<size_t>(IndexOf(key));
  return Narrow(ctx, values_, key_dim_, offset_per_key_[i], length_per_key_[i]);
}

std::vector<std::pair<std::string, Variable>> KeyedTensor::ToDict(Context& ctx) const {
  if (keys_.empty()) return {};
  const std::vector<Variable> blocks = Split(ctx, values_, key_dim_, length_per_key_);
  std::vector<std::pair<std::string, Variable>> dict;
  for (size_t i = 0; i < keys_.size(); ++i) dict.emplace_back(keys_[i], blocks[i]);
  return dict;
}

KeyedTensor KeyedTensor::To(Context& ctx, DType dtype) const {
  KeyedTensor converted = *this;
  converted.values_ = Cast(ctx, values_, dtype);
  return converted;
}

KeyedTensor KeyedTensor::To(Context& ctx, Device device) const {
  if (!values_.defined() || values_.value().device() == device) return *this;
  KeyedTensor moved = *this;
  moved.values_ = values_.value().To(ctx, device);
  return moved;
}

std::vector<Variable> KeyedTensor::Regroup(Context& ctx, const std::vector<KeyedTensor>& kts,
                                           const std::vector<std::vector<std::string>>& groups) {
  std::vector<std::vector<std::string>> keys;
  std::vector<std::vector<int64_t>> lengths;
  std::vector<Variable> values;
  for (const KeyedTensor& kt : kts) {
    TESSERA_CHECK_EQ(kt.key_dim(), 1, "KeyedTensor::Regroup: key_dim");
    keys.push_back(kt.keys());
    lengths.push_back(kt.length_per_key());
    values.push_back(kt.values());
  }
  return tessera::Regroup(ctx, values, PlanRegroup(keys, lengths, groups));
}

std::vector<std::pair<std::string, Variable>> KeyedTensor::RegroupAsDict(
    Context& ctx, const std::vector<KeyedTensor>& kts,
    const std::vector<std::vector<std::string>>& groups, const std::vector<std::string>& names) {
  TESSERA_CHECK_EQ(names.size(), groups.size(), "KeyedTensor::RegroupAsDict: names and groups");
  const std::vector<Variable> blocks = Regroup(ctx, kts, groups);
  std::vector<std::pair<std::string, Variable>> dict;
  for (size_t j = 0; j < blocks.size(); ++j) dict.emplace_back(names[j], blocks[j]);
  return dict;
}

std::string ToString(const KeyedTensor& kt) {
  std::string text;
  for (size_t i = 0; i < kt.keys().size(); ++i) {
    const Tensor block =
        kt.values().value().Narrow(kt.key_dim(), kt.offset_per_key()[i], kt.length_per_key()[i]);
    text += (text.empty() ? "    \"" : ",\n    \"") + kt.keys()[i] + "\": " + PythonList(block);
  }
  return text.empty() ? "KeyedTensor()\n" : "KeyedTensor({\n" + text + "\n})\n";
}

}  // namespace tessera
