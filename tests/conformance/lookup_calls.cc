// Lookup cases by the calls themselves: rows and outputs of 16 bits, batches that differ by
// feature, position weights. These reach Lookup today, and no collection yet.
#include <map>

#include "embedding/update.h"
#include "tests/conformance/embedding_case.h"

namespace tessera::conformance {
namespace {

// The bags of one rank of a feature (all of its bags, where batches are the same), and where their
// rows lie in the pooled output.
struct Part {
  size_t feature;
  int table;
  PoolingType pooling;
  int64_t first_bag, num_bags;
  int64_t at, stride;  // in elements
};

class LookupCalls {
 public:
  LookupCalls(Context& ctx, const Case& c, const KeyedJaggedTensor& kjt)
      : ctx_(ctx), c_(c), kjt_(kjt), offsets_(kjt.offsets(ctx)) {
    std::map<std::string, int> index;
    for (const Json& t : c.attrs.at("tables")) {
      const int i = static_cast<int>(tables_.size());
      tables_.push_back(c.input("table." + std::to_string(i)));
      index[t.at("name").get<std::string>()] = i;
    }
    for (const Json& f : c.attrs.at("features")) {
      features_.push_back(index.at(f.at("table").get<std::string>()));
      keys_.push_back(kjt.IndexOf(f.value("key", f.at("name").get<std::string>())));
      total_dim_ += dim(features_.size() - 1);
    }
    PlaceParts();
    if (c.attrs.contains("position_weights"))
      weights_ = PositionWeights();
    else if (c.attrs.value("weighted", false))
      weights_ = kjt.weights().value();
  }

  void Forward(Tensors& answer) {
    const Tensor output =
        Tensor::Empty(ctx_, {size_}, ParseDType(c_.attrs.value("output_dtype", "f32")));
    const std::vector<LookupFeature> features = Features(output);
    Lookup(ctx_, Args(features));
    if (c_.optional("kjt.inverse_indices"))
      answer["pooled"] = Expanded(output);
    else
      answer["pooled"] =
          kjt_.variable_stride_per_key() ? output : output.Reshape({kjt_.stride(), total_dim_});
  }

  void Backward(Tensors& answer) {
    Tensor grad = c_.input("grad").To(ctx_, DType::kF32);
    if (c_.optional("kjt.inverse_indices")) grad = Folded(grad);
    const std::vector<LookupFeature> features = Features(grad);
    const LookupArgs args = Args(features);
    for (size_t t = 0; t < tables_.size(); ++t) {
      UpdateTable table;
      table.num_rows = tables_[t].dim(0);
      table.dim = tables_[t].dim(1);
      for (size_t p = 0; p < parts_.size(); ++p)
        if (parts_[p].table == static_cast<int>(t)) table.features.push_back(static_cast<int>(p));
      answer["grad.table." + std::to_string(t)] = ComputeDenseGradient(ctx_, args, table);
    }
    if (!weights_) return;
    const Tensor grad_weights = Tensor::Zeros(ctx_, {args.num_ids});
    LookupWeightGradients(ctx_, args, grad_weights.data<float>());
    if (c_.attrs.value("weighted", false)) answer["grad.weights"] = grad_weights;
    if (c_.attrs.contains("position_weights")) FoldPositions(grad_weights, answer);
  }

 private:
  int64_t dim(size_t feature) const {
    return tables_[static_cast<size_t>(features_[feature])].dim(1);
  }

  // Batches that are the same: a matrix of the features' columns. Else rank by rank, feature by
  // feature, each feature's rows one after another.
  void PlaceParts() {
    const bool matrix = !kjt_.variable_stride_per_key();
    const StridePerKeyPerRank bags = kjt_.stride_per_key_per_rank();
    const size_t ranks = bags.empty() ? 0 : bags[0].size();
    std::vector<int64_t> next_bag(features_.size(), 0);
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (size_t f = 0; f < features_.size(); ++f) {
        const auto key = static_cast<size_t>(keys_[f]);
        const int64_t first = kjt_.lengths_offset_per_key()[key] + next_bag[f];
        const PoolingType pooling =
            PoolingOf(c_, c_.attrs.at("tables")[static_cast<size_t>(features_[f])]);
        parts_.push_back({f, features_[f], pooling, first, bags[key][rank], size_,
                          matrix ? total_dim_ : dim(f)});
        next_bag[f] += bags[key][rank];
        size_ += matrix ? dim(f) : bags[key][rank] * dim(f);
      }
    }
    if (matrix) size_ = kjt_.stride() * total_dim_;
  }

  std::vector<LookupFeature> Features(const Tensor& output) const {
    std::vector<LookupFeature> features;
    for (const Part& part : parts_) {
      const Tensor& table = tables_[static_cast<size_t>(part.table)];
      features.push_back(
          {.rows = table.raw_data(),
           .row_type = table.dtype(),
           .num_rows = table.dim(0),
           .dim = table.dim(1),
           .ids = {kjt_.values().raw_data(), kjt_.values().dtype() == DType::kI64},
           .first_bag = part.first_bag,
           .num_bags = part.num_bags,
           .pooling = part.pooling,
           .output = static_cast<char*>(output.raw_data()) + part.at * SizeOf(output.dtype()),
           .output_type = output.dtype(),
           .output_stride = part.stride});
    }
    return features;
  }
  LookupArgs Args(const std::vector<LookupFeature>& features) const {
    return {features,
            {offsets_.raw_data(), offsets_.dtype() == DType::kI64},
            weights_ ? weights_.data<float>() : nullptr,
            kjt_.values().numel()};
  }

  // Calls fn(b, column, i) for each element of the whole batch's matrix and its place i in the
  // output of the distinct bags.
  template <typename Fn>
  void VisitInverse(Fn&& fn) const {
    const Tensor inverse = c_.input("kjt.inverse_indices");
    const std::vector<int64_t> rows = inverse.ToVector<int64_t>();
    int64_t first_column = 0;
    for (const Part& part : parts_) {
      for (int64_t b = 0; b < inverse.dim(1); ++b) {
        const int64_t row = rows[static_cast<size_t>(keys_[part.feature] * inverse.dim(1) + b)];
        for (int64_t d = 0; d < part.stride; ++d)
          fn(static_cast<size_t>(b * total_dim_ + first_column + d),
             static_cast<size_t>(part.at + row * part.stride + d));
      }
      first_column += part.stride;
    }
  }
  Tensor Expanded(const Tensor& distinct) const {
    const int64_t batch = c_.input("kjt.inverse_indices").dim(1);
    const std::vector<float> from = distinct.To(ctx_, DType::kF32).ToVector<float>();
    std::vector<float> to(static_cast<size_t>(batch * total_dim_));
    VisitInverse([&](size_t full, size_t place) { to[full] = from[place]; });
    return Tensor::From(ctx_, {batch, total_dim_}, to).To(ctx_, distinct.dtype());
  }
  Tensor Folded(const Tensor& grad) const {
    const std::vector<float> from = grad.ToVector<float>();
    std::vector<float> to(static_cast<size_t>(size_));
    VisitInverse([&](size_t full, size_t place) { to[place] += from[full]; });
    return Tensor::From(ctx_, to);
  }

  // Calls fn(key, id, position in its bag) for each id of the keys that have position weights.
  template <typename Fn>
  void VisitPositions(Fn&& fn) const {
    const std::vector<int64_t> offsets = offsets_.To(ctx_, DType::kI64).ToVector<int64_t>();
    for (const auto& [key, length] : c_.attrs.at("position_weights").items()) {
      const auto k = static_cast<size_t>(kjt_.IndexOf(key));
      const auto first = static_cast<size_t>(kjt_.lengths_offset_per_key()[k]),
                 end = static_cast<size_t>(kjt_.lengths_offset_per_key()[k + 1]);
      for (size_t bag = first; bag < end; ++bag)
        for (int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i)
          fn(key, static_cast<size_t>(i), static_cast<size_t>(i - offsets[bag]));
    }
  }
  Tensor PositionWeights() const {
    std::vector<float> weights(static_cast<size_t>(kjt_.values().numel()), 1.0f);
    std::map<std::string, std::vector<float>> given;
    for (const auto& [key, length] : c_.attrs.at("position_weights").items())
      given[key] = c_.input("position_weight." + key).ToVector<float>();
    VisitPositions([&](const std::string& key, size_t id, size_t position) {
      weights[id] = given.at(key).at(position);
    });
    return Tensor::From(ctx_, weights);
  }
  void FoldPositions(const Tensor& grad_weights, Tensors& answer) const {
    const std::vector<float> grads = grad_weights.ToVector<float>();
    std::map<std::string, std::vector<float>> folded;
    for (const auto& [key, length] : c_.attrs.at("position_weights").items())
      folded[key].resize(length.get<size_t>());
    VisitPositions([&](const std::string& key, size_t id, size_t position) {
      folded.at(key).at(position) += grads[id];
    });
    for (const auto& [key, values] : folded)
      answer["grad.position_weight." + key] = Tensor::From(ctx_, values);
  }

  Context& ctx_;
  const Case& c_;
  KeyedJaggedTensor kjt_;
  Tensor offsets_, weights_;
  std::vector<Tensor> tables_;
  std::vector<int> features_;  // their tables
  std::vector<int64_t> keys_;  // of the features
  std::vector<Part> parts_;
  int64_t total_dim_ = 0, size_ = 0;
};

}  // namespace

bool NeedsLookupCalls(const Case& c) {
  if (c.attrs.contains("position_weights") || c.attrs.value("output_dtype", "f32") != "f32")
    return true;
  if (c.attrs.contains("kjt") && c.attrs["kjt"].contains("stride_per_key_per_rank")) return true;
  for (const Json& t : c.attrs.at("tables"))
    if (t.at("dtype") != "f32") return true;
  return false;
}

void CallLookup(Context& ctx, const Case& c, const KeyedJaggedTensor& kjt, Tensors& answer) {
  if (IsSequence(c)) throw Unsupported("sequences by calls of Lookup");
  LookupCalls calls(ctx, c, kjt);
  calls.Forward(answer);
  if (c.optional("grad")) calls.Backward(answer);
}

}  // namespace tessera::conformance
