#ifndef TESSERA_TRAIN_VERIFY_DIGEST_ITEMS_H_
#define TESSERA_TRAIN_VERIFY_DIGEST_ITEMS_H_
// A tensor as items of a digest, each with a place of its own.
#include <algorithm>
#include <cstdint>
#include <string>

#include "runtime/base/parallel.h"
#include "runtime/tensor.h"
#include "train/verify/located_sum.h"

namespace tessera {

// Rows of a table's weights, or of a state: [rows, columns], or [rows] of one column.
struct RowItems {
  Tensor tensor;
  int64_t first_row = 0, first_column = 0;  // of the part in its table
  uint64_t first_place = 0;                 // of the whole table

  int64_t rows() const { return tensor.dim(0); }
  // Adds a row of the whole table, if the part has it.
  void Add(int64_t row, LocatedSum& to) const;
  void AddAll(ThreadPool& threads, LocatedSum& to) const;

 private:
  uint64_t HashOf(int64_t row_of_part) const;
};

// A dense tensor, in pieces of 4096 bytes, the last one maybe of fewer.
struct DenseItems {
  std::string name;
  Tensor tensor;  // a state may be made for the asking
  uint64_t first_place = 0;

  int64_t count() const { return (tensor.nbytes() + kItem - 1) / kItem; }
  void AddAll(LocatedSum& to) const;
  // "over_arch.0.weight, elements 1024 to 2047".
  std::string NameOf(uint64_t place) const;

  static constexpr int64_t kItem = 4096;
};

// The hash of some bytes.
uint64_t HashOfBytes(const char* data, int64_t bytes);

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_DIGEST_ITEMS_H_
