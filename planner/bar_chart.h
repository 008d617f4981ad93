#ifndef TESSERA_PLANNER_BAR_CHART_H_
#define TESSERA_PLANNER_BAR_CHART_H_
// Charts of stacked bars on a self-contained HTML page without scripts. Who points at a bar reads
// its name and numbers.
#include <string>
#include <vector>

namespace tessera::internal {

// One layer of stacked bars.
struct BarLayer {
  std::string name, color;
  std::vector<double> values;  // one a bar
};

struct BarChart {
  std::string title, unit;
  std::vector<BarLayer> layers;
  std::vector<std::string> bars;        // their names; those of the first and the last are drawn
  std::vector<std::string> marks = {};  // short texts below the bars, in place of these names
  double line = 0;                      // drawn across, if above 0
  std::string line_name = {};
};

// Beyond `most` bars, a drawn one stands for several, and shows the largest of them.
std::string DrawChart(const BarChart& chart, int most);

// A whole page; `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_BAR_CHART_H_
