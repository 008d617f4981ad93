#include "bench/lab/hard_batch.h"

#include <algorithm>
#include <random>
#include <string>

#include "bench/lab/row_check.h"
#include "embedding/lookup/element.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kTableRows[] = {1, 7, 1000};
constexpr int64_t kTables = 3, kBags = 600;
constexpr int64_t kGap = 16;  // elements after each output row

int64_t LengthOf(int64_t bag, std::mt19937& random) {
  if (bag < 2 || bag >= kBags - 2) return 0;
  if (bag == 2) return 3000;
  if (bag == kBags - 3) return 300;
  if (bag % 7 == 0) return 0;
  if (bag % 7 == 1) return 1;
  return static_cast<int64_t>(random() % 20);
}

int64_t IdOf(int64_t rows, std::mt19937& random) {
  switch (random() % 16) {
    case 0:
      return -1;
    case 1:
      return rows;  // one past the last
    case 2:
      return int64_t{1} << 40;
    case 3:
      return rows - 1;
    case 4:
      return 0;
  }
  return static_cast<int64_t>(random()) % rows;
}

GuardedBytes Numbers(int64_t count, DType type, std::mt19937& random) {
  std::normal_distribution<float> normal;
  GuardedBytes bytes(count * SizeOf(type));
  for (int64_t i = 0; i < count; ++i) internal::StoreElement(bytes.data(), type, i, normal(random));
  return bytes;
}

// what: "the weights". There may be room behind the numbers.
void Compare(const GuardedBytes& got, const GuardedBytes& expected, const char* what, size_t table,
             DType type, int64_t columns) {
  const int64_t rows = kTableRows[table], used = rows * columns * SizeOf(type);
  const std::string of = Format("table {} of {} rows: {}", table, rows, what);
  CheckRows(of, {.type = type, .columns = columns, .count = rows}, expected.data(), got.data());
  TESSERA_CHECK(std::equal(got.data() + used, got.data() + got.size(), expected.data() + used),
                "{}: something was written behind the last row's", of);
}

}  // namespace

HardBatch::HardBatch(const Shape& shape, uint32_t seed) : shape_(shape) {
  std::mt19937 random(seed);
  for (const int64_t rows : kTableRows) {
    rows_.push_back(Numbers(rows * shape.dim, shape.row_type, random));
    row_states_.emplace_back(rows * int64_t{sizeof(float)});
    std::fill_n(row_states_.back().data(), row_states_.back().size(), 0);
    for (int64_t bag = 0; bag < kBags; ++bag) {
      const int64_t length = LengthOf(bag, random);
      for (int64_t i = 0; i < length; ++i) ids_.push_back(IdOf(rows, random));
      offsets_.push_back(static_cast<int64_t>(ids_.size()));
    }
  }
  std::normal_distribution<float> normal;
  if (shape.weighted)
    for (size_t i = 0; i < ids_.size(); ++i) weights_.push_back(normal(random));
  gradient_ = Numbers(outputs(), DType::kF32, random);
}

int64_t HardBatch::outputs() const {
  return shape_.pooling == PoolingType::kNone
             ? static_cast<int64_t>(ids_.size()) * (shape_.dim + kGap)
             : kBags * (kTables * shape_.dim + kGap);
}

LookupArgs HardBatch::Args(GuardedBytes& target, DType type) {
  const bool none = shape_.pooling == PoolingType::kNone;
  const int64_t stride = (none ? 1 : kTables) * shape_.dim + kGap;
  features_.clear();
  for (int64_t t = 0; t < kTables; ++t) {
    const int64_t first = none ? stride * offsets_[static_cast<size_t>(t * kBags)] : t * shape_.dim;
    features_.push_back({.rows = rows_[static_cast<size_t>(t)].data(),
                         .row_type = shape_.row_type,
                         .num_rows = kTableRows[t],
                         .dim = shape_.dim,
                         .ids = {ids_.data(), true},
                         .first_bag = t * kBags,
                         .num_bags = kBags,
                         .pooling = shape_.pooling,
                         .output = target.data() + first * SizeOf(type),
                         .output_type = type,
                         .output_stride = stride});
  }
  return {features_,
          {offsets_.data(), true},
          weights_.empty() ? nullptr : weights_.data(),
          static_cast<int64_t>(ids_.size())};
}

LookupArgs HardBatch::Lookup() {
  output_ = GuardedBytes(outputs() * SizeOf(shape_.output_type));
  return Args(output_, shape_.output_type);
}

LookupArgs HardBatch::Gradient() { return Args(gradient_, DType::kF32); }

void HardBatch::CheckGuards() const {
  const bool none = shape_.pooling == PoolingType::kNone;
  const int64_t size = SizeOf(shape_.output_type), row = (none ? 1 : kTables) * shape_.dim * size;
  output_.CheckGuards("the output", row, row + kGap * size);
  for (size_t t = 0; t < rows_.size(); ++t) {
    rows_[t].CheckGuards(Format("table {}", t));
    row_states_[t].CheckGuards(Format("the state of table {}", t));
  }
}

void HardBatch::CompareTables(const HardBatch& expected) const {
  for (size_t t = 0; t < rows_.size(); ++t) {
    Compare(rows_[t], expected.rows_[t], "the weights", t, shape_.row_type, shape_.dim);
    Compare(row_states_[t], expected.row_states_[t], "the state", t, shape_.state_type, 1);
  }
}

std::vector<UpdateTable> HardBatch::Tables(const AnyRule& rule) {
  std::vector<UpdateTable> tables;
  for (size_t t = 0; t < rows_.size(); ++t) {
    UpdateTable table{rows_[t].data(), kTableRows[t], shape_.dim, {static_cast<int>(t)}, &rule};
    table.row_type = shape_.row_type;
    table.state_type = shape_.state_type;
    if (RuleStates(rule).size() > 0) table.states.push_back(row_states_[t].data());
    tables.push_back(table);
  }
  return tables;
}

}  // namespace tessera::bench
