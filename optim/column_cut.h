#ifndef TESSERA_OPTIM_COLUMN_CUT_H_
#define TESSERA_OPTIM_COLUMN_CUT_H_
// Changes of a rule where a table's columns are cut into blocks that are updated apart, as
// column_wise, table_column_wise and grid sharding do.
#include <string_view>

#include "optim/any_rule.h"

namespace tessera {

enum class ColumnCut {
  kExact,        // each element is updated by itself: no bit changes
  kEachBlock,    // sums over a row (norms, means of squares) are each block's own
  kMustBeWhole,  // elements of one row meet: blocks would not do what the rule says
};

// A custom rule may do what it wants with a row, so of one nothing better than kEachBlock is known.
ColumnCut ColumnCutOf(const AnyRule& rule);
// Returns the changes of the rule of this name; a name that the library does not have is a custom
// rule's.
ColumnCut ColumnCutOf(std::string_view rule);

}  // namespace tessera
#endif  // TESSERA_OPTIM_COLUMN_CUT_H_
