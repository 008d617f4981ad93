#include "data/synthetic/click_model.h"

#include <algorithm>
#include <cmath>

#include "data/synthetic/normal.h"
#include "runtime/base/check.h"
#include "runtime/numbers/math.h"
#include "runtime/numbers/random.h"

namespace tessera {
namespace {

// Philox sequences: one for the rows, one for each group of parameters.
constexpr uint64_t kRowSequence = 0, kSlopeSequence = 1, kEffectSequence = 100,
                   kVectorSequence = 200;
constexpr uint64_t kCountersPerRow = 32;

constexpr double kLargestLog = 6;  // log(1 + x) of the integers is about uniform up to it
constexpr double kCentre = kLargestLog / 2;
constexpr double kSlope = 0.35;  // typical effect of the integers beside the 1 of an id
constexpr double kVectorElement = 0.7;

// Consecutive numbers of one Philox sequence.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t sequence, uint64_t counter = 0)
      : seed_(seed), sequence_(sequence), counter_(counter) {}
  uint32_t Bits() {
    if (used_ == 4) {
      bits_ = Philox(seed_, sequence_, counter_++);
      used_ = 0;
    }
    return bits_.v[used_++];
  }
  double Uniform() {
    const uint32_t high = Bits();
    return UniformDouble(high, Bits());
  }
  float Gaussian() {
    const double u = Uniform();
    return Normal(u, Uniform());
  }

 private:
  uint64_t seed_, sequence_, counter_;
  PhiloxBits bits_ = {};
  int used_ = 4;
};

std::vector<float> Gaussians(uint64_t seed, uint64_t sequence, int64_t count, double deviation) {
  RandomStream random(seed, sequence);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(deviation) * random.Gaussian();
  return values;
}

int64_t Vocabulary(int64_t largest, int feature) {
  constexpr double kShare[] = {1, 1.0 / 3, 0.1, 1.0 / 30, 0.01};
  return std::max<int64_t>(
      2, static_cast<int64_t>(static_cast<double>(largest) * kShare[feature % 5]));
}

std::vector<double> PowerLaw(int64_t vocabulary, double zipf, double missing_rate) {
  std::vector<double> weights;
  double sum = 0;
  for (int64_t k = 0; k < vocabulary; ++k) {
    weights.push_back(Pow(static_cast<double>(k + 1), -zipf));
    sum += weights.back();
  }
  weights.push_back(sum * missing_rate / (1 - missing_rate));
  return weights;
}

double Sigmoid(double x) { return 1 / (1 + Exp(-x)); }

double MeanSigmoid(const std::vector<double>& scores, double bias, double scale) {
  double sum = 0;
  for (const double score : scores) sum += Sigmoid(bias + scale * score);
  return sum / static_cast<double>(scores.size());
}

}  // namespace

void CheckOptions(const ClickModelOptions& options) {
  const auto check = [](bool good, const char* name, const char* expected) {
    if (!good) throw Error(Format("planted data: {}: expected {}", name, expected));
  };
  check(options.vocabulary >= 2 && options.vocabulary <= int64_t{1} << 28, "vocabulary",
        "2 to 2^28");
  check(options.zipf >= 0 && options.zipf <= 10, "zipf", "a number from 0 to 10");
  check(options.click_rate > 0 && options.click_rate < 1, "click_rate", "a number between 0 and 1");
  check(options.missing_rate >= 0 && options.missing_rate < 1, "missing_rate",
        "a number from 0 to below 1");
  check(options.strength >= 0 && options.strength <= 100, "strength", "a number from 0 to 100");
}

ClickModel::ClickModel(const ClickModelOptions& options) : options_(options) {
  CheckOptions(options);
  for (int f = 0; f < ClickRow::kCategories; ++f) features_.push_back(MakeFeature(f));
  slopes_ = Gaussians(options.seed, kSlopeSequence, ClickRow::kIntegers, kSlope);
  Calibrate();
}

ClickModel::Feature ClickModel::MakeFeature(int feature) const {
  const int64_t values = Vocabulary(options_.vocabulary, feature);
  const uint64_t index = static_cast<uint64_t>(feature);
  Feature made{AliasTable(PowerLaw(values, options_.zipf, options_.missing_rate)),
               Gaussians(options_.seed, kEffectSequence + index, values + 1, 1.0),
               {}};
  if (feature < 2 * kPairs)
    made.vectors =
        Gaussians(options_.seed, kVectorSequence + index, (values + 1) * kVector, kVectorElement);
  return made;
}

void ClickModel::DrawInputs(int64_t n, ClickRow& row, double& label_uniform) const {
  RandomStream random(options_.seed, kRowSequence, static_cast<uint64_t>(n) * kCountersPerRow);
  label_uniform = random.Uniform();
  for (int i = 0; i < ClickRow::kIntegers; ++i) {
    const double uniform = random.Uniform(),
                 present = (uniform - options_.missing_rate) / (1 - options_.missing_rate);
    if (present < 0) continue;
    row.integers_present |= 1u << i;
    row.integers[i] = static_cast<int64_t>(Exp(present * kLargestLog) - 1);
  }
  for (int f = 0; f < ClickRow::kCategories; ++f) {
    const int64_t value = features_[static_cast<size_t>(f)].ids.Draw(random.Uniform());
    if (value == vocabulary(f)) continue;
    row.categories_present |= 1u << f;
    row.categories[f] = static_cast<uint64_t>(value);
  }
}

double ClickModel::Score(const ClickRow& row) const {
  double score = 0;
  for (int i = 0; i < ClickRow::kIntegers; ++i) {
    const double x = Log1p(static_cast<double>(std::max<int64_t>(row.integers[i], 0)));
    score += static_cast<double>(slopes_[static_cast<size_t>(i)]) * (x - kCentre);
  }
  const auto entry = [&](int f) {
    return row.has_category(f) ? static_cast<size_t>(row.categories[f])
                               : static_cast<size_t>(vocabulary(f));
  };
  for (int f = 0; f < ClickRow::kCategories; ++f)
    score += static_cast<double>(features_[static_cast<size_t>(f)].effects[entry(f)]);
  for (int pair = 0; pair < kPairs; ++pair) {
    const float* u = &features_[static_cast<size_t>(2 * pair)].vectors[entry(2 * pair) * kVector];
    const float* v =
        &features_[static_cast<size_t>(2 * pair + 1)].vectors[entry(2 * pair + 1) * kVector];
    for (int k = 0; k < kVector; ++k)
      score += static_cast<double>(u[k]) * static_cast<double>(v[k]);
  }
  return score;
}

void ClickModel::Calibrate() {
  constexpr int64_t kSample = 8192;
  std::vector<double> scores;
  double sum = 0, squares = 0;
  for (int64_t n = 0; n < kSample; ++n) {
    ClickRow row;
    double unused;
    DrawInputs(n, row, unused);
    scores.push_back(Score(row));
    sum += scores.back();
    squares += scores.back() * scores.back();
  }
  const double mean = sum / kSample, deviation = std::sqrt(squares / kSample - mean * mean);
  scale_ = deviation > 0 ? options_.strength / deviation : 0;
  double low = -1e4, high = 1e4;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    if (i > 0 && middle == bias_) break;  // no number lies between
    bias_ = middle;
    (MeanSigmoid(scores, bias_, scale_) < options_.click_rate ? low : high) = bias_;
  }
}

double ClickModel::Probability(const ClickRow& row) const {
  for (int f = 0; f < ClickRow::kCategories; ++f)
    TESSERA_CHECK(row.categories[f] < static_cast<uint64_t>(vocabulary(f)),
                  "cat_{}: {} is no value of this click model", f, row.categories[f]);
  return Sigmoid(bias_ + scale_ * Score(row));
}

ClickRow ClickModel::Row(int64_t n) const {
  ClickRow row;
  double uniform;
  DrawInputs(n, row, uniform);
  row.label = uniform < Sigmoid(bias_ + scale_ * Score(row)) ? 1.0f : 0.0f;
  return row;
}

}  // namespace tessera
