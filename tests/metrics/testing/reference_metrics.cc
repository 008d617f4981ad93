#include "tests/metrics/testing/reference_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera::testing {
namespace {

// Σ fn(p, y, w) over all examples.
double Sum(const Batches& batches, const std::function<double(double, double, double)>& fn) {
  double sum = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) sum += fn(b.p[i], b.y[i], b.w[i]);
  return sum;
}

double Weight(const Batches& b) {
  return Sum(b, [](double, double, double w) { return w; });
}
double Positives(const Batches& b) {
  return Sum(b, [](double, double y, double w) { return w * y; });
}

double Entropy(double positives, double weight) {
  const double m = std::clamp(positives / weight, 1e-12, 1 - 1e-12);
  return -positives * std::log2(m) - (weight - positives) * std::log2(1 - m);
}
double CrossEntropy(const Batches& b, double c = 1) {
  return Sum(b, [&](double p, double y, double w) {
    const double q = p / (p + (1 - p) / c);
    return -w * std::log2(y == 1 ? q : 1 - q);
  });
}
double Ne(const Batches& b, double c = 1) {
  return CrossEntropy(b, c) / Entropy(Positives(b), Weight(b));
}

Batches Unweighted(Batches batches) {
  for (MetricColumns& b : batches) std::fill(b.w.begin(), b.w.end(), 1.0f);
  return batches;
}

Batches OfGroup(const Batches& batches, int64_t group) {
  Batches some(1);
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) {
      if (b.groups[i] != group) continue;
      some[0].p.push_back(b.p[i]);
      some[0].y.push_back(b.y[i]);
      some[0].w.push_back(b.w[i]);
    }
  return some;
}

Named SegmentedNe(const Batches& b) {
  Named values;
  for (int64_t g = 0; g < kGroups; ++g) {
    const Batches some = OfGroup(b, g);
    values["segmented_ne_" + std::to_string(g)] = Ne(some);
    values["logloss_" + std::to_string(g)] = CrossEntropy(some) / Weight(some);
  }
  return values;
}

double Calibration(const Batches& b, double c = 1) {
  return Sum(b, [&](double p, double, double w) { return w * p / (p + (1 - p) / c); }) /
         Positives(b);
}

double TensorMean(const Batches& batches) {
  double sum = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) sum += double{b.w[i]} * double{b.x[i]};
  return sum / Weight(batches);
}

double SquaredError(const Batches& b) {
  return Sum(b, [](double p, double y, double w) { return w * (y - p) * (y - p); });
}
Named Mse(const Batches& b) {
  const double mse = SquaredError(b) / Weight(b), positives = Positives(b);
  return {{"mse", mse},
          {"rmse", std::sqrt(mse)},
          {"r_squared", 1 - SquaredError(b) / (positives - positives * positives / Weight(b))}};
}

double ShareAbove(const Batches& b, double threshold, bool precision) {
  const double tp =
      Sum(b, [&](double p, double y, double w) { return p >= threshold ? w * y : 0; });
  const double other = Sum(b, [&](double p, double y, double w) {
    if (precision) return p >= threshold ? w * (1 - y) : 0;
    return p <= threshold ? w * y : 0;
  });
  return tp + other == 0 ? 0 : tp / (tp + other);
}

Named Hindsight(const Batches& b) {
  const auto threshold = [](int i) { return static_cast<double>(static_cast<float>(i / 999.0)); };
  int i = 0;
  while (i < 999 && ShareAbove(b, threshold(i), true) < 0.5) ++i;
  return {{"hindsight_target_pr", i},
          {"hindsight_target_precision", ShareAbove(b, threshold(i), true)},
          {"hindsight_target_recall", ShareAbove(b, threshold(i), false)}};
}

Named Multiclass(const Batches& batches) {
  std::vector<double> found(kClasses);
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) {
      std::vector<size_t> order(kClasses);
      for (size_t c = 0; c < order.size(); ++c) order[c] = c;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t c) {
        return b.scores[i * kClasses + a] > b.scores[i * kClasses + c];
      });
      for (size_t k = 0; k < found.size(); ++k)
        for (size_t r = 0; r <= k; ++r)
          if (static_cast<float>(order[r]) == b.classes[i]) found[k] += double{b.w[i]};
    }
  Named values;
  for (size_t k = 0; k < found.size(); ++k)
    values["multiclass_recall_" + std::to_string(k)] = found[k] / Weight(batches);
  return values;
}

// Predictions and labels are sets of two labels each.
Named MultiLabel(const Batches& batches) {
  Named values;
  for (const int bit : {0, 1}) {
    double right = 0, foreseen = 0;
    for (const MetricColumns& b : batches)
      for (size_t i = 0; i < b.size(); ++i) {
        if ((static_cast<int>(b.predicted_set[i]) >> bit & 1) == 0) continue;
        foreseen += double{b.w[i]};
        if (static_cast<int>(b.classes[i]) >> bit & 1) right += double{b.w[i]};
      }
    values["multi_label_precisionlabel_" + std::to_string(bit)] = right / foreseen;
  }
  return values;
}

// The number of examples of its session that have a higher value.
int Rank(const MetricColumns& b, const std::vector<float>& values, size_t i) {
  int rank = 0;
  for (size_t j = 0; j < b.size(); ++j)
    rank += b.sessions[j] == b.sessions[i] && values[j] > values[i];
  return rank;
}

double SessionLevel(const Batches& batches, bool precision) {
  double tp = 0, other = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i) {
      const bool first = Rank(b, b.p, i) < 2;
      const double w = double{b.w[i]}, y = double{b.y[i]};
      if (first) tp += w * y;
      other += precision ? (first ? w * (1 - y) : 0) : (first ? 0 : w * y);
    }
  return tp / (tp + other);
}

double Ndcg(const Batches& batches) {
  double sum = 0, count = 0;
  for (const MetricColumns& b : batches)
    for (int64_t session = -2; session <= 2; ++session) {
      std::vector<size_t> by_p;
      double weight = 0, positives = 0, dcg = 0, ideal = 0;
      for (size_t i = 0; i < b.size(); ++i)
        if (b.sessions[i] == session) by_p.push_back(i);
      if (by_p.empty()) continue;
      std::stable_sort(by_p.begin(), by_p.end(),
                       [&](size_t i, size_t j) { return b.p[i] > b.p[j]; });
      for (size_t r = 0; r < by_p.size(); ++r) {
        weight = std::max(weight, double{b.w[by_p[r]]});
        positives += double{b.y[by_p[r]]};
        dcg += double{b.y[by_p[r]]} / std::log2(r + 2.0);
      }
      for (size_t r = 0; r < static_cast<size_t>(positives); ++r) ideal += 1 / std::log2(r + 2.0);
      sum += weight * (1 - dcg / std::max(ideal, 1e-6));
      ++count;
    }
  return sum / count;
}

Named Gauc(const Batches& batches) {
  double sum = 0, count = 0;
  for (const MetricColumns& b : batches) {
    size_t begin = 0;
    for (const int64_t length : b.candidates) {
      double ordered = 0, pairs = 0;
      bool all_equal = true;
      const size_t end = begin + static_cast<size_t>(length);
      for (size_t i = begin; i < end; ++i)
        for (size_t j = begin; j < end; ++j) {
          if (b.p[i] != b.p[j]) all_equal = false;
          if (!(b.y[i] == 1 && b.y[j] == 0)) continue;
          const double w = double{b.w[i]} * double{b.w[j]};
          pairs += w;
          ordered += w * (b.p[i] > b.p[j] ? 1 : b.p[i] == b.p[j] ? 0.5 : 0);
        }
      begin = end;
      if (pairs == 0 || all_equal) continue;
      sum += ordered / pairs;
      ++count;
    }
  }
  return {{"gauc", (sum + 1e-9) / (count + 2e-9)}, {"gauc_num_samples", count}};
}

double Xauc(const Batches& batches) {
  double agree = 0, all = 0;
  for (const MetricColumns& b : batches)
    for (size_t i = 0; i < b.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const double w = double{b.w[i]} * double{b.w[j]};
        const float dp = b.p[i] - b.p[j], dy = b.y[i] - b.y[j];
        all += w;
        if (dp * dy > 0 || (dp == 0 && dy == 0)) agree += w;
      }
  return agree / all;
}

double Scalar(const Batches& batches) {
  double sum = 0;
  for (const MetricColumns& b : batches) {
    double labels = 0;
    for (const float y : b.y) labels += double{y};
    sum += labels / static_cast<double>(b.size());
  }
  return sum / static_cast<double>(batches.size());
}

}  // namespace

double TotalExamples(const Batches& b) {
  return Sum(b, [](double, double, double w) { return w != 0 ? 1.0 : 0.0; });
}

Named Reference(const std::string& name, const Batches& b) {
  const double weight = Weight(b), positives = Positives(b);
  if (name == "ne") return {{"ne", Ne(b)}, {"logloss", CrossEntropy(b) / weight}};
  if (name == "unweighted_ne") return {{name, Ne(Unweighted(b))}};
  if (name == "ne_positive") {
    const double ce = Sum(b, [](double p, double y, double w) { return -w * y * std::log2(p); });
    return {{name, ce / Entropy(positives, weight)}};
  }
  if (name == "recalibrated_ne")
    return {{"ne", Ne(b, 0.25)}, {"logloss", CrossEntropy(b, 0.25) / weight}};
  if (name == "serving_ne") return {{"ne", Ne(b)}};
  if (name == "log_loss") return {{name, CrossEntropy(b) * std::log(2.0) / weight}};
  if (name == "cali_free_ne") {
    const double mean = Sum(b, [](double p, double, double w) { return w * p; }) / weight;
    return {{name,
             Ne(b) / (-positives * std::log2(mean) - (weight - positives) * std::log2(1 - mean))}};
  }
  if (name == "segmented_ne") return SegmentedNe(b);
  if (name == "calibration" || name == "serving_calibration")
    return {{"calibration", Calibration(b)}};
  if (name == "recalibrated_calibration") return {{"calibration", Calibration(b, 0.25)}};
  if (name == "ctr") return {{name, positives / weight}};
  if (name == "weighted_avg")
    return {{name, Sum(b, [](double p, double, double w) { return w * p; }) / weight}};
  if (name == "tensor_weighted_avg") return {{"weighted_avg", TensorMean(b)}};
  if (name == "scalar") return {{name, Scalar(b)}};
  if (name == "mse") return Mse(b);
  if (name == "nmse") {
    const double nmse = SquaredError(b) / (weight - positives);
    return {{"nmse", nmse}, {"nrmse", std::sqrt(nmse)}};
  }
  if (name == "mae")
    return {
        {name, Sum(b, [](double p, double y, double w) { return w * std::abs(y - p); }) / weight}};
  if (name == "accuracy")
    return {{name, Sum(b, [](double p, double y, double w) {
                     return (p >= 0.5) == (y == 1) ? w : 0;
                   }) / weight}};
  if (name == "precision" || name == "recall")
    return {{name, ShareAbove(b, 0.5, name == "precision")}};
  if (name == "hindsight_target_pr") return Hindsight(b);
  if (name == "multiclass_recall") return Multiclass(b);
  if (name == "multi_label_precision") return MultiLabel(b);
  if (name == "average")
    return {
        {"label_average", positives / weight},
        {"prediction_average", Sum(b, [](double p, double, double w) { return w * p; }) / weight}};
  if (name == "num_positive_samples") return {{name, positives}};
  if (name == "num_missing_labels") return {{name, 0}};
  if (name == "sum_weights") return {{name, weight}};
  if (name == "weighted_sum_predictions")
    return {{name, Sum(b, [](double p, double, double w) { return w * p; })}};
  if (name == "precision_session_level" || name == "recall_session_level")
    return {{name, SessionLevel(b, name == "precision_session_level")}};
  if (name == "ndcg") return {{name, Ndcg(b)}};
  if (name == "gauc") return Gauc(b);
  if (name == "xauc") return {{name, Xauc(b)}};
  ADD_FAILURE() << "no reference for " << name;
  return {};
}

}  // namespace tessera::testing
