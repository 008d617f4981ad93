#include "bench/embedding/id_batches.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <span>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr double kGoldenRatio = 0.6180339887498949;

// Where table t of several begins in what all of them read.
int64_t StartOf(int64_t table, int64_t places) {
  const double turns = static_cast<double>(table) * kGoldenRatio;
  return static_cast<int64_t>((turns - std::floor(turns)) * static_cast<double>(places));
}

}  // namespace

std::vector<Shape> Shape::Alike() const {
  std::set<int64_t> dims;
  for (size_t t = 0; t < rows.size(); ++t) dims.insert(DimOf(t));
  std::vector<Shape> shapes;
  for (const int64_t d : dims) {
    shapes.push_back(*this);
    shapes.back().dim = d;
    shapes.back().own.clear();
  }
  return shapes;
}

IdBatches::IdBatches(const Shape& shape, uint64_t seed)
    : batch_(shape.batch), tables_(std::ssize(shape.rows)) {
  if (shape.ids)
    OpenFile(shape);
  else
    for (size_t t = 0; t < shape.rows.size(); ++t)
      streams_.emplace_back(shape.SkewOf(t), shape.rows[t], seed, t);
  Draws draws(seed, static_cast<uint64_t>(tables_));
  for (int64_t t = 0; t < tables_; ++t)
    for (const int64_t length :
         DrawLengths(shape.LengthsOf(static_cast<size_t>(t)), batch_, draws, t * batch_))
      drawn_offsets_.push_back(drawn_offsets_.back() + length);
}

void IdBatches::OpenFile(const Shape& shape) {
  const auto in_file = std::ssize(shape.ids->tables);
  TESSERA_CHECK(in_file == 1 || tables_ <= in_file, "--tables {}: the file of --ids has {} tables",
                tables_, in_file);
  for (int64_t t = 0; t < tables_; ++t) {
    const IdTable& ids = shape.ids->tables[static_cast<size_t>(in_file == 1 ? 0 : t)];
    const int64_t bags = std::ssize(ids.offsets) - 1;
    TESSERA_CHECK(bags < 0 || bags >= batch_, "--batch {}: table {} of --ids has {} bags", batch_,
                  t, bags);
    from_file_.push_back({RowsOfIds(*shape.ids, ids, shape.rows[static_cast<size_t>(t)],
                                    shape.remap, Format("table {} of --ids", t)),
                          ids.offsets});
    if (in_file == 1) from_file_.back().at = StartOf(t, bags < 0 ? std::ssize(ids.ids) : bags);
  }
}

void IdBatches::TakeBags(FileTable& table, IdBatch& batch) const {
  const int64_t bags = std::ssize(table.offsets) - 1;
  for (int64_t b = 0; b < batch_; ++b, table.at = (table.at + 1) % bags) {
    const auto at = static_cast<size_t>(table.at);
    batch.ids.insert(batch.ids.end(), table.rows.begin() + table.offsets[at],
                     table.rows.begin() + table.offsets[at + 1]);
    batch.offsets.push_back(std::ssize(batch.ids));
  }
}

void IdBatches::TakeIds(FileTable& table, int64_t count, IdBatch& batch) const {
  for (; count > 0; --count, table.at = (table.at + 1) % std::ssize(table.rows))
    batch.ids.push_back(table.rows[static_cast<size_t>(table.at)]);
}

IdBatch IdBatches::Next() {
  IdBatch batch;
  const bool has_bags = !from_file_.empty() && !from_file_[0].offsets.empty();
  batch.offsets = has_bags ? std::vector<int64_t>{0} : drawn_offsets_;
  for (int64_t t = 0; t < tables_; ++t) {
    if (has_bags) {
      TakeBags(from_file_[static_cast<size_t>(t)], batch);
      continue;
    }
    const auto first = static_cast<size_t>(t * batch_);
    const int64_t count =
        drawn_offsets_[first + static_cast<size_t>(batch_)] - drawn_offsets_[first];
    if (!from_file_.empty()) {
      TakeIds(from_file_[static_cast<size_t>(t)], count, batch);
      continue;
    }
    batch.ids.resize(batch.ids.size() + static_cast<size_t>(count));
    streams_[static_cast<size_t>(t)].Draw(std::span(batch.ids).last(static_cast<size_t>(count)));
  }
  return batch;
}

IdBatches DrawIdBatches(Context& ctx, const Shape& shape) {
  return {shape, ctx.random().seed() + ctx.random().TakeSequence()};
}

}  // namespace tessera::bench
