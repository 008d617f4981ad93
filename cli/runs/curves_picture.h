#ifndef TESSERA_CLI_RUNS_CURVES_PICTURE_H_
#define TESSERA_CLI_RUNS_CURVES_PICTURE_H_
// The learning curves of runs in one picture: a line a run, a color a group.
#include <string>

#include "cli/runs/run_comparison.h"

namespace tessera::cli {

// Whether any run has two values of the metric.
bool HasCurve(const RunComparison& comparison);

// An SVG file: the metric over epochs. Throws Error where there is no curve.
std::string CurvesSvg(const RunComparison& comparison);

// A page with the picture, where there is one to draw, and both tables.
std::string CurvesPage(const RunComparison& comparison);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_CURVES_PICTURE_H_
