#include "bench/inputs/id_stream.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// Rows used more often than this in a batch are the same in every batch.
constexpr int64_t kSteadyCount = 16;
constexpr double kGoldenRatio = 0.6180339887498949;

// A step that visits all of `rows` rows before it comes back, near their golden section.
int64_t StepOver(int64_t rows) {
  auto step = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(rows) * kGoldenRatio));
  while (std::gcd(step, rows) != 1) ++step;
  return step;
}

}  // namespace

int64_t DrawRow(double u, int64_t rows, double zipf) {
  const auto n = static_cast<double>(rows);
  if (zipf == 0) return std::min(static_cast<int64_t>(u * n), rows - 1);
  const double power = 1 - zipf;
  const double rank = std::abs(power) < 1e-9
                          ? std::pow(n, u)
                          : std::pow((std::pow(n, power) - 1) * u + 1, 1 / power);
  const auto whole = static_cast<uint64_t>(rank) - 1;
  return static_cast<int64_t>(whole * 0x9E3779B97F4A7C15u % static_cast<uint64_t>(rows));
}

IdStream::IdStream(Skew skew, int64_t rows, uint64_t seed, uint64_t sequence)
    : skew_(std::move(skew)), rows_(rows), step_(StepOver(rows)), draws_(seed, sequence) {
  TESSERA_CHECK(rows > 0, "ids of a table: expected rows, got {}", rows);
  if (skew_.kind != Skew::Kind::kTrace) return;
  if (skew_.trace->rows > rows)
    throw Error(
        Format("trace: id {} is no row of a table of {} rows; give more rows, or, where the "
               "topic has them, --ids text:FILE with --remap dense or hash",
               skew_.trace->rows - 1, rows));
  const double turns = static_cast<double>(sequence) * kGoldenRatio;
  trace_at_ = static_cast<size_t>((turns - std::floor(turns)) *
                                  static_cast<double>(skew_.trace->ids.size()));
}

void IdStream::Draw(std::span<int64_t> ids) {
  switch (skew_.kind) {
    case Skew::Kind::kUniform:
    case Skew::Kind::kZipf:
      for (int64_t& id : ids) id = DrawRow(draws_.Uniform(), rows_, skew_.exponent);
      return;
    case Skew::Kind::kReuseCounts:
      return DrawCounts(ids);
    case Skew::Kind::kReuseDistances:
      for (int64_t& id : ids) id = DrawByDistance();
      return;
    case Skew::Kind::kTrace:
      return DrawTrace(ids);
  }
}

int64_t IdStream::Strewn(int64_t rank) const {
  return static_cast<int64_t>(static_cast<__int128>(rank) * step_ % rows_);
}

void IdStream::DrawTrace(std::span<int64_t> ids) {
  const std::vector<int64_t>& from = skew_.trace->ids;
  for (int64_t& id : ids) {
    id = from[trace_at_];
    trace_at_ = (trace_at_ + 1) % from.size();
  }
}

void IdStream::DrawCounts(std::span<int64_t> ids) {
  const std::vector<int64_t> counts =
      CountsOfBatch(*skew_.counts, static_cast<int64_t>(ids.size()));
  const auto steady = static_cast<int64_t>(
      std::partition_point(counts.begin(), counts.end(),
                           [](int64_t count) { return count > kSteadyCount; }) -
      counts.begin());
  const int64_t others = std::max<int64_t>(1, rows_ - steady);
  size_t at = 0;
  for (int64_t row = 0; row < static_cast<int64_t>(counts.size()); ++row) {
    const int64_t rank = row < steady ? row : steady + cold_rank_++ % others;
    for (int64_t i = 0; i < counts[static_cast<size_t>(row)]; ++i) ids[at++] = Strewn(rank);
  }
  std::shuffle(ids.begin(), ids.end(), draws_);
}

int64_t IdStream::DrawByDistance() {
  const int64_t distance = DrawDistance(*skew_.distances, draws_.Uniform());
  const int64_t seen = stack_.size();
  int64_t rank = seen;
  if (distance >= 0 && distance < seen)
    rank = stack_.RowAt(distance);
  else if (seen == rows_)
    rank = stack_.RowAt(seen - 1);
  stack_.Use(rank);
  return Strewn(rank);
}

}  // namespace tessera::bench
