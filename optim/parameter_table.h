#ifndef TESSERA_OPTIM_PARAMETER_TABLE_H_
#define TESSERA_OPTIM_PARAMETER_TABLE_H_
// All parameters of a step for one loop or one launch: each is cut into pieces of a fixed number of
// elements (or rows), and pieces are numbered through.
//
//   rows[r].first   number of parameter r's first piece; ascending
//   piece k         belongs to the last r with rows[r].first <= k
#include <type_traits>
#include <vector>

#include "runtime/base/host_device.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Args: a trivially copyable struct, which says what to do with one parameter.
template <typename Args>
struct ParameterRow {
  int64_t first;
  Args args;
};

// A table in the memory of the device that reads it.
template <typename Args>
struct ParameterTable {
  int count;
  const ParameterRow<Args>* rows;
};

// The row whose piece it is. Table: has count and rows.
template <typename Table>
TESSERA_HD const auto& RowOfPiece(const Table& table, int64_t piece) {
  int low = 0, high = table.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (table.rows[middle].first <= piece)
      low = middle;
    else
      high = middle;
  }
  return table.rows[low];
}

template <typename Args>
struct ParameterRows {
  std::vector<ParameterRow<Args>> rows;
  int64_t pieces = 0;

  // Nothing for a parameter without items.
  void Add(const Args& args, int64_t items, int64_t items_of_a_piece) {
    if (items == 0) return;
    rows.push_back({pieces, args});
    pieces += (items + items_of_a_piece - 1) / items_of_a_piece;
  }
};

// The rows on ctx's device, and what holds them there: `rows` itself on a CPU.
template <typename Args>
struct PlacedRows {
  PlacedRows(Context& ctx, const ParameterRows<Args>& rows) {
    using Row = ParameterRow<Args>;
    static_assert(std::is_trivially_copyable_v<Row>);
    const Shape bytes = {static_cast<int64_t>(rows.rows.size() * sizeof(Row))};
    const Tensor host = Tensor::Borrow(const_cast<Row*>(rows.rows.data()), bytes, DType::kU8);
    memory = ctx.device() == Device::Cpu() ? host : host.Clone(ctx);
    table = {static_cast<int>(rows.rows.size()), static_cast<const Row*>(memory.raw_data())};
  }

  Tensor memory;
  ParameterTable<Args> table;
};

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_PARAMETER_TABLE_H_
