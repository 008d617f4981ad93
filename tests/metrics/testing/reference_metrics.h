#ifndef TESSERA_TESTS_METRICS_TESTING_REFERENCE_METRICS_H_
#define TESSERA_TESTS_METRICS_TESTING_REFERENCE_METRICS_H_
// The formulas of metrics as obvious loops over examples, in double.
#include <map>
#include <string>
#include <vector>

#include "tests/metrics/testing/metric_stream.h"

namespace tessera::testing {

using Batches = std::vector<MetricColumns>;
using Named = std::map<std::string, double>;

// Values of a metric for some batches; names without prefix. Fails the test for a metric that has
// no loop here.
Named Reference(const std::string& name, const Batches& batches);
// How many examples have a weight.
double TotalExamples(const Batches& batches);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_METRICS_TESTING_REFERENCE_METRICS_H_
