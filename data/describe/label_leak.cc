#include "data/describe/label_leak.h"

#include <cmath>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

constexpr double kEnough = 20;  // rows that chance would give, so that their absence says something
constexpr double kHardly = 0.05;  // so small a part of them is as good as none

struct Rows {
  double by_label[2] = {0, 0};
  double all() const { return by_label[0] + by_label[1]; }
};

// The label that nearly all rows of a part have, though both are frequent enough; -1: none.
int OnlyLabel(const Rows& part, const Rows& rows) {
  for (const int label : {0, 1}) {
    const double by_chance = part.all() * rows.by_label[1 - label] / rows.all();
    if (by_chance >= kEnough && part.by_label[1 - label] <= kHardly * by_chance) return label;
  }
  return -1;
}

}  // namespace

std::string LabelLeak(const ColumnProfile& column, const ColumnProfile& label, double at_least) {
  Rows empty, filled, zero, other, rows;
  const bool counts = column.all_numbers() && !column.is_bag();  // else 0 stands for a text
  const auto &cells = column.by_row.kept(), &labels = label.by_row.kept();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (std::isnan(labels[i])) continue;
    const int one = labels[i] >= static_cast<float>(at_least) ? 1 : 0;
    ++rows.by_label[one];
    ++(std::isnan(cells[i]) ? empty : filled).by_label[one];
    if (counts && !std::isnan(cells[i])) ++(cells[i] == 0 ? zero : other).by_label[one];
  }
  if (const int only = OnlyLabel(empty, rows); only >= 0)
    return Format("it is empty nearly only where the label is {}", only);
  if (const int only = OnlyLabel(filled, rows); only >= 0)
    return Format("it is filled nearly only where the label is {}", only);
  if (const int only = OnlyLabel(zero, rows); only >= 0)
    return Format("it is 0 nearly only where the label is {}", only);
  if (const int only = OnlyLabel(other, rows); only >= 0)
    return Format("it is other than 0 nearly only where the label is {}", only);
  return "";
}

}  // namespace tessera::internal
