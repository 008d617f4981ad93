#ifndef TESSERA_METRICS_FORMULAS_FORMULAS_H_
#define TESSERA_METRICS_FORMULAS_FORMULAS_H_
// The metrics that are made of sums, as TorchRec defines them; each .cc of a metric's name says its
// formula. w: weight, y: label, p: prediction, Σ: over examples. (AUC, AUPRC and RAUC see the
// examples themselves: example_metric.h. Throughput is the whole model's: throughput.h.)
#include <functional>
#include <memory>

#include "metrics/formulas/metric_options.h"
#include "metrics/state/sum_metric.h"

namespace tessera {

// Seconds from some moment on.
using Clock = std::function<double()>;

using FormulaPtr = std::unique_ptr<SumFormula>;

// ne.cc: cross entropy over that of always saying the mean label.
FormulaPtr MakeNe(const MetricOptions& options);
FormulaPtr MakeUnweightedNe(const MetricOptions& options);
FormulaPtr MakeNePositive(const MetricOptions& options);
FormulaPtr MakeRecalibratedNe(const MetricOptions& options);
FormulaPtr MakeServingNe(const MetricOptions& options);
FormulaPtr MakeLogLoss(const MetricOptions& options);
FormulaPtr MakeCaliFreeNe(const MetricOptions& options);
FormulaPtr MakeSegmentedNe(const MetricOptions& options);

FormulaPtr MakeCalibration(const MetricOptions& options);
FormulaPtr MakeRecalibratedCalibration(const MetricOptions& options);
FormulaPtr MakeServingCalibration(const MetricOptions& options);
FormulaPtr MakeCtr(const MetricOptions& options);
FormulaPtr MakeWeightedAvg(const MetricOptions& options);
FormulaPtr MakeTensorWeightedAvg(const MetricOptions& options);
FormulaPtr MakeScalar(const MetricOptions& options);
FormulaPtr MakeOutput(const MetricOptions& options);

FormulaPtr MakeAverage(const MetricOptions& options);
FormulaPtr MakeNumPositiveSamples(const MetricOptions& options);
FormulaPtr MakeNumMissingLabels(const MetricOptions& options);
FormulaPtr MakeSumWeights(const MetricOptions& options);
FormulaPtr MakeWeightedSumPredictions(const MetricOptions& options);

FormulaPtr MakeMse(const MetricOptions& options);
FormulaPtr MakeNmse(const MetricOptions& options);
FormulaPtr MakeMae(const MetricOptions& options);

FormulaPtr MakeAccuracy(const MetricOptions& options);
FormulaPtr MakePrecision(const MetricOptions& options);
FormulaPtr MakeRecall(const MetricOptions& options);
FormulaPtr MakeHindsightTargetPr(const MetricOptions& options);
FormulaPtr MakeMulticlassRecall(const MetricOptions& options);
FormulaPtr MakeMultiLabelPrecision(const MetricOptions& options);

FormulaPtr MakePrecisionSession(const MetricOptions& options);
FormulaPtr MakeRecallSession(const MetricOptions& options);
FormulaPtr MakeNdcg(const MetricOptions& options);
FormulaPtr MakeGauc(const MetricOptions& options);
FormulaPtr MakeXauc(const MetricOptions& options);

FormulaPtr MakeTowerQps(const MetricOptions& options, Clock clock);

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_FORMULAS_H_
