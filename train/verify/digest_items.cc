#include "train/verify/digest_items.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/check.h"
#include "train/verify/row_hash.h"

namespace tessera {

uint64_t HashOfBytes(const char* data, int64_t bytes) {
  return XXH3_64bits(data, static_cast<size_t>(bytes));
}

void RowItems::Add(int64_t row, LocatedSum& to) const {
  const int64_t here = row - first_row;
  if (here < 0 || here >= rows()) return;
  const int64_t columns = tensor.numel() / rows(), bytes = SizeOf(tensor.dtype());
  to.Add(first_place + static_cast<uint64_t>(row),
         HashOfRow(static_cast<const char*>(tensor.raw_data()) + here * columns * bytes, bytes,
                   columns, first_column));
}

void RowItems::AddAll(LocatedSum& to) const {
  for (int64_t row = 0; row < rows(); ++row) Add(first_row + row, to);
}

void DenseItems::AddAll(LocatedSum& to) const {
  const auto* const data = static_cast<const char*>(tensor.raw_data());
  for (int64_t i = 0; i < count(); ++i)
    to.Add(first_place + static_cast<uint64_t>(i),
           HashOfBytes(data + i * kItem, std::min(kItem, tensor.nbytes() - i * kItem)));
}

std::string DenseItems::NameOf(uint64_t place) const {
  const int64_t per_item = kItem / SizeOf(tensor.dtype()),
                first = static_cast<int64_t>(place - first_place) * per_item,
                end = std::min(first + per_item, tensor.numel());
  return Format("{}, elements {} to {}", name, first, end - 1);
}

}  // namespace tessera
