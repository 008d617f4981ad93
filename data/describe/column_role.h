#ifndef TESSERA_DATA_DESCRIBE_COLUMN_ROLE_H_
#define TESSERA_DATA_DESCRIBE_COLUMN_ROLE_H_
// Proposes what a column is to a model: label, time, dense number, feature, or nothing.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/describe/profile_rows.h"

namespace tessera {

enum class ColumnRole { kLabel, kTime, kDense, kFeature, kUnused };
std::string ToString(ColumnRole role);  // "label", "time", "dense", "feature", "unused"

struct ProposedColumn {
  ColumnRole role = ColumnRole::kUnused;
  std::string why;                 // of kUnused: a reason for people
  FeatureEntry feature = {};       // of kFeature
  int64_t rows = 0;                // of a feature's table
  std::optional<double> at_least;  // of a label that is not 0 or 1: where 1 begins
  bool by_values = false;          // of a label whose name says nothing, and that nobody chose
  bool log = false;                // of a dense number: takes log1p
  bool words_of_label = false;     // its name is that of a label, but its values are words
  std::string leak = {};           // how its missing cells or zeros tell the label, or ""
};

struct RoleOptions {
  std::string label = {};  // column of the label; "": by name, or the first one of 0 and 1
};

// A proposal for each column of the profile. Throws Error for a label that is no column, that is
// not a number, or that nothing looks like.
std::vector<ProposedColumn> ProposeColumns(const RowsProfile& profile, const RoleOptions& options);

// Whether training refuses rows of the column for an item without a text, which is no id.
bool RefusesEmptyItems(const ColumnProfile& column, const ProposedColumn& proposed);

// The two words that all cells of a column have, which 0 and 1 would make a label.
std::optional<std::pair<std::string, std::string>> TwoWords(const ColumnProfile& column);

// Rows of a table for hashed ids: room for ten times as many as were seen, a prime number of them.
int64_t RowsOfHashes(const ColumnProfile& column);

// The fraction of a second that the whole numbers of a column of times since 1970 count, as 1,
// 1e3 or 1e6 of a second; 0 of other columns.
double TicksASecond(const ColumnProfile& column);

// Whether the columns, of files without a heading, are those of Criteo: a label of 0 and 1, 13
// whole numbers, 26 values of 8 hexadecimal digits, with tabs between them.
bool AreCriteoColumns(const RowsProfile& profile);

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_COLUMN_ROLE_H_
