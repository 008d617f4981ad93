#include "bench/harness/row_details.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::bench {
namespace {

constexpr char kIndent[] = "    ";

// Whether `name` ended so; it is without that ending then.
bool TakeEnding(std::string& name, const std::string& ending) {
  if (!name.ends_with(ending)) return false;
  name.resize(name.size() - ending.size());
  return true;
}

std::string NumberText(double number) {
  const bool small = std::abs(number) < 100 && number != std::floor(number);
  return small ? Format("{:.3g}", number) : internal::WithCommas(number);
}

std::string FactText(std::string name, double value) {
  std::string text;
  if (TakeEnding(name, "_bytes"))
    text = internal::Bytes(std::llround(value));
  else
    text = TakeEnding(name, "_share") ? Format("{:.1f} %", 100 * value) : NumberText(value);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name + " " + text;
}

}  // namespace

std::string DetailsText(const Measurement& row) {
  std::string text, line;
  for (const auto& [name, value] : row.facts) {
    const std::string fact = FactText(name, value);
    if (!line.empty() && line.size() + fact.size() + 3 > kLineWidth) {
      text += line + ";\n";
      line.clear();
    }
    line += (line.empty() ? kIndent : "; ") + fact;
  }
  return line.empty() ? "" : text + line + "\n";
}

}  // namespace tessera::bench
