#include "train/verify/digest_items.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <mutex>

#include "runtime/base/check.h"
#include "train/verify/row_hash.h"

namespace tessera {

uint64_t HashOfBytes(const char* data, int64_t bytes) {
  return XXH3_64bits(data, static_cast<size_t>(bytes));
}

uint64_t RowItems::HashOf(int64_t row_of_part) const {
  const int64_t columns = tensor.numel() / rows(), bytes = SizeOf(tensor.dtype());
  return HashOfRow(static_cast<const char*>(tensor.raw_data()) + row_of_part * columns * bytes,
                   bytes, columns, first_column);
}

void RowItems::Add(int64_t row, LocatedSum& to) const {
  const int64_t here = row - first_row;
  if (here >= 0 && here < rows()) to.Add(first_place + static_cast<uint64_t>(row), HashOf(here));
}

void RowItems::AddAll(ThreadPool& threads, LocatedSum& to) const {
  constexpr int64_t kPiece = 8192;
  std::mutex adds;
  threads.For(rows(), kPiece, [&](int64_t begin, int64_t end) {
    LocatedSum piece;
    piece.AddConsecutive(first_place + static_cast<uint64_t>(first_row + begin), end - begin,
                         [&](int64_t i) { return HashOf(begin + i); });
    const std::lock_guard lock(adds);
    to.AddAll(piece);
  });
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
