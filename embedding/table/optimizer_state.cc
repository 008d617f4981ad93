#include "embedding/table/optimizer_state.h"

#include <algorithm>

namespace tessera {
namespace {

bool PerRow(const OptimizerState& state) { return state.tensor.rank() == 1; }

bool Overlap(int64_t a, int64_t a_length, int64_t b, int64_t b_length) {
  return std::max(a, b) < std::min(a + a_length, b + b_length);
}
bool SharesRows(const TablePart& a, const TablePart& b) {
  return Overlap(a.first_row, a.num_rows, b.first_row, b.num_rows);
}
bool SharesColumns(const TablePart& a, const TablePart& b) {
  return Overlap(a.first_column, a.num_columns, b.first_column, b.num_columns);
}

void CheckInside(const TablePart& p, int64_t rows, int64_t dim) {
  const auto inside = [](int64_t first, int64_t count, int64_t all) {
    return first >= 0 && count >= 0 && count <= all - first;
  };
  TESSERA_CHECK(inside(p.first_row, p.num_rows, rows) && inside(p.first_column, p.num_columns, dim),
                "rows {} + {}, columns {} + {} of a table [{}, {}]", p.first_row, p.num_rows,
                p.first_column, p.num_columns, rows, dim);
}

// Throws unless the parts lie inside the table, do not overlap, and have as many elements as it:
// then they cover it.
void CheckCover(int64_t rows, int64_t dim, std::span<const OptimizerStatePart> parts) {
  int64_t elements = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    CheckInside(parts[i].part, rows, dim);
    elements += parts[i].part.num_rows * parts[i].part.num_columns;
    for (size_t k = 0; k < i; ++k)
      TESSERA_CHECK(
          !SharesRows(parts[k].part, parts[i].part) || !SharesColumns(parts[k].part, parts[i].part),
          "merging optimizer state: parts {} and {} overlap", k, i);
  }
  TESSERA_CHECK_EQ(elements, rows * dim,
                   "merging optimizer state: elements of all parts of a table [{}, {}]", rows, dim);
}

// Throws unless `state` is like the one at the same place of the first part.
void CheckLike(const OptimizerState& first, const OptimizerState& state, const TablePart& part) {
  TESSERA_CHECK_EQ(state.name, first.name, "merging optimizer state: name");
  TESSERA_CHECK_EQ(state.tensor.dtype(), first.tensor.dtype(), "merging optimizer state {}",
                   state.name);
  const Shape expected =
      PerRow(first) ? Shape{part.num_rows} : Shape{part.num_rows, part.num_columns};
  TESSERA_CHECK_EQ(state.tensor.shape(), expected, "merging optimizer state {}", state.name);
}

// Throws if rows that an earlier part has too differ.
void CheckAgreement(std::span<const OptimizerStatePart> parts, size_t index, size_t state) {
  const TablePart& here = parts[index].part;
  for (size_t k = 0; k < index; ++k) {
    const TablePart& there = parts[k].part;
    if (!SharesRows(here, there)) continue;
    const int64_t begin = std::max(here.first_row, there.first_row),
                  end = std::min(here.first_row + here.num_rows, there.first_row + there.num_rows);
    const auto rows_of = [&](const OptimizerStatePart& p) {
      return p.states[state].tensor.Rows(begin - p.part.first_row, end - p.part.first_row);
    };
    TESSERA_CHECK(SameBits(rows_of(parts[k]), rows_of(parts[index])),
                  "merging optimizer state {}: the columns of rows {} to {} bring different values",
                  parts[index].states[state].name, begin, end);
  }
}

}  // namespace

std::vector<OptimizerState> SplitOptimizerStates(Context& ctx,
                                                 std::span<const OptimizerState> states,
                                                 const TablePart& part) {
  std::vector<OptimizerState> result;
  for (const OptimizerState& state : states) {
    const Tensor& t = state.tensor;
    CheckInside(part, t.dim(0), PerRow(state) ? part.first_column + part.num_columns : t.dim(1));
    Tensor view = t.Narrow(0, part.first_row, part.num_rows);
    if (!PerRow(state)) view = view.Narrow(1, part.first_column, part.num_columns);
    result.push_back({state.name, view.Clone(ctx)});
  }
  return result;
}

std::vector<OptimizerState> MergeOptimizerStates(Context& ctx, int64_t rows, int64_t dim,
                                                 std::span<const OptimizerStatePart> parts) {
  CheckCover(rows, dim, parts);
  std::vector<OptimizerState> result;
  if (parts.empty()) return result;
  for (const OptimizerState& first : parts[0].states)
    result.push_back({first.name, Tensor::Empty(ctx, PerRow(first) ? Shape{rows} : Shape{rows, dim},
                                                first.tensor.dtype())});
  for (size_t i = 0; i < parts.size(); ++i) {
    const TablePart& part = parts[i].part;
    TESSERA_CHECK_EQ(parts[i].states.size(), result.size(), "merging optimizer state: part {}", i);
    for (size_t s = 0; s < result.size(); ++s) {
      const OptimizerState& state = parts[i].states[s];
      CheckLike(parts[0].states[s], state, part);
      Tensor to = result[s].tensor.Narrow(0, part.first_row, part.num_rows);
      if (PerRow(state))
        CheckAgreement(parts, i, s);
      else
        to = to.Narrow(1, part.first_column, part.num_columns);
      to.CopyFrom(ctx, state.tensor);
    }
  }
  return result;
}

}  // namespace tessera
