#include "planner/model/sharding_option.h"

#include <set>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

constexpr const char* kPartitionNames[] = {"device", "host", "multi_host", "uniform"};

// Sums of memory stay at the largest number instead of passing it.
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
int64_t Product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace

ShardPerf& ShardPerf::operator+=(const ShardPerf& other) {
  fwd_compute += other.fwd_compute;
  fwd_comms += other.fwd_comms;
  bwd_compute += other.bwd_compute;
  bwd_comms += other.bwd_comms;
  prefetch += other.prefetch;
  input_dist += other.input_dist;
  return *this;
}

Storage& Storage::operator+=(const Storage& other) {
  hbm = Sum(hbm, other.hbm);
  ddr = Sum(ddr, other.ddr);
  ssd = Sum(ssd, other.ssd);
  return *this;
}

Storage& Storage::operator-=(const Storage& other) {
  hbm -= other.hbm;
  ddr -= other.ddr;
  ssd -= other.ssd;
  return *this;
}

Storage operator*(Storage storage, int64_t count) {
  return {Product(storage.hbm, count), Product(storage.ddr, count), Product(storage.ssd, count)};
}

Storage Largest(const Storage& a, const Storage& b) {
  return {std::max(a.hbm, b.hbm), std::max(a.ddr, b.ddr), std::max(a.ssd, b.ssd)};
}

Storage LargestOf(const std::vector<Storage>& ranks) {
  Storage most;
  for (const Storage& rank : ranks) most = Largest(most, rank);
  return most;
}

std::string ToString(const Storage& storage) {
  std::string text;
  const auto add = [&](int64_t bytes, const char* name) {
    if (bytes != 0) text += (text.empty() ? "" : ", ") + internal::Bytes(bytes) + " " + name;
  };
  add(storage.hbm, "HBM");
  add(storage.ddr, "DDR");
  add(storage.ssd, "SSD");
  return text.empty() ? "0 B" : text;
}

std::string ToString(PartitionBy partition_by) {
  return kPartitionNames[static_cast<int>(partition_by)];
}

PartitionBy PartitionByOf(ShardingType type) {
  switch (type) {
    case ShardingType::kTableWise:
    case ShardingType::kColumnWise:
      return PartitionBy::kDevice;
    case ShardingType::kTableRowWise:
    case ShardingType::kTableColumnWise:
      return PartitionBy::kHost;
    case ShardingType::kGridShard:
      return PartitionBy::kMultiHost;
    case ShardingType::kRowWise:
    case ShardingType::kDataParallel:
      return PartitionBy::kUniform;
  }
  TESSERA_FAIL("sharding type {}", static_cast<int>(type));
}

int64_t ShardingOption::num_shards() const {
  int64_t count = 0;
  for (const ShardRun& run : shards) count += run.count;
  return count;
}

double ShardingOption::total_perf() const {
  double sum = 0;
  for (const ShardRun& run : shards) {
    const double each = run.perf.total();
    for (int64_t i = 0; i < run.count; ++i) sum += each;
  }
  return sum;
}

double ShardingOption::max_perf() const {
  double most = 0;
  for (const ShardRun& run : shards) most = std::max(most, run.perf.total());
  return most;
}

Storage ShardingOption::total_storage() const {
  Storage sum;
  for (const ShardRun& run : shards) sum += run.storage * run.count;
  return sum;
}

Storage ShardingOption::max_storage() const {
  Storage most;
  for (const ShardRun& run : shards) most = Largest(most, run.storage);
  return most;
}

std::string RanksText(const std::vector<int>& ranks) {
  constexpr size_t kMax = 8;
  const std::set<int> distinct(ranks.begin(), ranks.end());
  if (distinct.empty()) return "";
  const int first = *distinct.begin(), last = *distinct.rbegin();
  if (static_cast<size_t>(last - first) + 1 == distinct.size())
    return first == last ? Format("{}", first) : Format("{}-{}", first, last);
  std::string text;
  size_t listed = 0;
  for (const int rank : distinct) {
    if (listed++ == kMax) return text + Format(" and {} more", distinct.size() - kMax);
    text += Format("{}{}", listed == 1 ? "" : ",", rank);
  }
  return text;
}

}  // namespace tessera
