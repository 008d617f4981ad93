#ifndef TESSERA_DATA_DESCRIBE_LABEL_LEAK_H_
#define TESSERA_DATA_DESCRIBE_LABEL_LEAK_H_
// Finds columns whose missing cells, or zeros, tell the label, as those that are filled in after a
// click, or what was paid.
#include <string>

#include "data/describe/column_profile.h"

namespace tessera::internal {

// "it is empty nearly only where the label is 0", or another of its kind, or "". The label is 1
// where the column `label` is `at_least` or more.
std::string LabelLeak(const ColumnProfile& column, const ColumnProfile& label, double at_least);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_DESCRIBE_LABEL_LEAK_H_
