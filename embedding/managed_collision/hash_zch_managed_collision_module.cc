#include "embedding/managed_collision/hash_zch_managed_collision_module.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "embedding/lookup/index_array.h"
#include "embedding/managed_collision/index/state_reader.h"
#include "embedding/table/rows_to_start.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

using internal::kEmptySlot;

// Times are 32-bit numbers.
constexpr int64_t kMaxTtl = int64_t{1} << 30;

void CheckSizes(const HashZchOptions& o) {
  TESSERA_CHECK_GE(o.zch_size, 1, "hash ZCH {}: zch_size", o.name);
  TESSERA_CHECK_GE(o.total_num_buckets, 1, "hash ZCH {}: total_num_buckets", o.name);
  TESSERA_CHECK(o.zch_size % o.total_num_buckets == 0,
                "hash ZCH {}: {} rows (zch_size) are not a multiple of total_num_buckets {}",
                o.name, o.zch_size, o.total_num_buckets);
  TESSERA_CHECK(o.max_probe >= 1 && o.max_probe <= std::numeric_limits<int32_t>::max(),
                "hash ZCH {}: max_probe {}; expected one in [1, 2^31)", o.name, o.max_probe);
  TESSERA_CHECK_GE(o.input_hash_size, 0, "hash ZCH {}: input_hash_size", o.name);
}

void CheckTtl(const HashZchOptions& o) {
  if (o.eviction == HashZchEviction::kSingleTtl)
    TESSERA_CHECK(o.single_ttl >= 1, "hash ZCH {}: {} needs a single_ttl of 1 or more, got {}",
                  o.name, ToString(o.eviction), o.single_ttl);
  TESSERA_CHECK(o.single_ttl >= 0 && o.single_ttl <= kMaxTtl,
                "hash ZCH {}: single_ttl {}; expected 0 to 2^30", o.name, o.single_ttl);
  TESSERA_CHECK(o.single_ttl == 0 || o.eviction == HashZchEviction::kSingleTtl ||
                    o.eviction == HashZchEviction::kLru,
                "hash ZCH {}: single_ttl {} beside the eviction {}", o.name, o.single_ttl,
                ToString(o.eviction));
  TESSERA_CHECK(!o.per_feature_ttl.empty() == (o.eviction == HashZchEviction::kPerFeatureTtl),
                "hash ZCH {}: {} numbers of per_feature_ttl beside the eviction {}; they go with "
                "PER_FEATURE_TTL_EVICTION alone, which needs one a feature",
                o.name, o.per_feature_ttl.size(), ToString(o.eviction));
  for (const int64_t ttl : o.per_feature_ttl)
    TESSERA_CHECK(ttl >= 1 && ttl <= kMaxTtl,
                  "hash ZCH {}: a per_feature_ttl of {}; expected 1 to 2^30", o.name, ttl);
}

void CheckOptIn(const HashZchOptions& o) {
  TESSERA_CHECK(o.percent_reserved_slots >= 0 && o.percent_reserved_slots < 100,
                "hash ZCH {}: percent_reserved_slots {}; expected one in [0, 100)", o.name,
                o.percent_reserved_slots);
  if (o.opt_in_prob == -1) return;
  TESSERA_CHECK(o.opt_in_prob >= 1 && o.opt_in_prob <= 100,
                "hash ZCH {}: opt_in_prob {}; expected −1 or one in [1, 100]", o.name,
                o.opt_in_prob);
  TESSERA_CHECK(o.eviction != HashZchEviction::kLru,
                "hash ZCH {}: LRU_EVICTION does not go with opt_in_prob {}; expected another "
                "eviction, or no opt_in_prob",
                o.name, o.opt_in_prob);
}

// The number of reserved slots in each bucket.
int64_t ReservedSlots(const HashZchOptions& o) {
  if (o.opt_in_prob == -1) return 0;
  const int64_t bucket = o.zch_size / o.total_num_buckets;
  const auto reserved = static_cast<int64_t>(
      std::floor(static_cast<double>(bucket) * o.percent_reserved_slots / 100));
  TESSERA_CHECK(reserved >= 1 && reserved < bucket,
                "hash ZCH {}: percent_reserved_slots {} of a bucket's {} slots are {} reserved "
                "ones; opt-in needs one, and one that is not",
                o.name, o.percent_reserved_slots, bucket, reserved);
  return reserved;
}

// Hours since 1970 of the year 2000, before which no clock of hours was.
constexpr int64_t kHoursOf2000 = 262'968;

// Throws Error for times that the other clock told. `forwards` of the state are done.
void CheckClock(const HashZchOptions& o, const Tensor& metadata, int64_t forwards) {
  const std::span<const int32_t> times = metadata.span<int32_t>();
  const int64_t latest = *std::ranges::max_element(times);
  if (latest <= 0) return;
  const bool hours = o.clock == HashZchClock::kHours;
  int64_t ttl = o.single_ttl;
  for (const int64_t of_feature : o.per_feature_ttl) ttl = std::max(ttl, of_feature);
  TESSERA_CHECK(!hours || latest >= kHoursOf2000,
                "state of hash ZCH {}: _hash_zch_metadata has times up to {}, which are no hours "
                "since 1970, but counts of forwards; expected them under the clock FORWARDS, got "
                "the clock HOURS",
                o.name, latest);
  TESSERA_CHECK(hours || latest < kHoursOf2000 || latest <= forwards + ttl,
                "state of hash ZCH {}: _hash_zch_metadata has times up to {} after {} forwards, "
                "which are hours since 1970, as in TorchRec; expected them under the clock HOURS, "
                "got the clock FORWARDS",
                o.name, latest, forwards);
}

}  // namespace

std::string ToString(HashZchEviction eviction) {
  switch (eviction) {
    case HashZchEviction::kNone:
      return "NONE";
    case HashZchEviction::kSingleTtl:
      return "SINGLE_TTL_EVICTION";
    case HashZchEviction::kPerFeatureTtl:
      return "PER_FEATURE_TTL_EVICTION";
    case HashZchEviction::kLru:
      return "LRU_EVICTION";
  }
  return "?";
}

void CheckHashZchOptions(const HashZchOptions& options) {
  CheckSizes(options);
  CheckTtl(options);
  CheckOptIn(options);
  ReservedSlots(options);
}

HashZchManagedCollisionModule::HashZchManagedCollisionModule(Context& ctx, HashZchOptions options)
    : options_(std::move(options)) {
  if (options_.name.empty()) options_.name = "without a name";
  CheckHashZchOptions(options_);
  reserved_ = ReservedSlots(options_);
  identities_ = Tensor::Full(ctx, {options_.zch_size, 1}, kEmptySlot, DType::kI64);
  if (has_policy()) metadata_ = Tensor::Full(ctx, {options_.zch_size, 1}, -1, DType::kI32);
}

internal::ZchTable HashZchManagedCollisionModule::Table() const {
  const HashZchOptions& o = options_;
  auto* identities = identities_.data<int64_t>();
  return {{identities, o.total_num_buckets, o.zch_size / o.total_num_buckets, reserved_,
           o.input_hash_size, o.max_probe},
          identities,
          has_policy() ? metadata_.data<int32_t>() : nullptr,
          Now(),
          o.eviction == HashZchEviction::kLru,
          !o.disable_fallback};
}

int64_t HashZchManagedCollisionModule::NumIdsSync(Context&) const {
  const Tensor owners = identities_.ToHost();
  return owners.numel() - std::ranges::count(owners.span<int64_t>(), kEmptySlot);
}

int64_t HashZchManagedCollisionModule::Now() const {
  if (options_.clock == HashZchClock::kForwards) return forwards_;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::hours>(since).count();
}

int64_t HashZchManagedCollisionModule::TtlOf(size_t feature) const {
  return options_.eviction == HashZchEviction::kPerFeatureTtl ? options_.per_feature_ttl[feature]
                                                              : options_.single_ttl;
}

std::vector<Tensor> HashZchManagedCollisionModule::Map(Context& ctx, std::span<const Tensor> ids,
                                                       bool training) {
  CheckDevice(ctx, "hash ZCH", identities_);
  if (!options_.per_feature_ttl.empty())
    TESSERA_CHECK_EQ(ids.size(), options_.per_feature_ttl.size(),
                     "hash ZCH {}: features, for as many TTLs", options_.name);
  if (training) ++forwards_;
  const internal::ZchTable table = Table();
  std::vector<Tensor> rows;
  std::vector<internal::ZchFeature> features;
  int64_t first = 0;
  for (size_t f = 0; f < ids.size(); ++f) {
    rows.push_back(Tensor::Empty(ctx, {ids[f].numel()}, DType::kI64));
    features.push_back({ids[f].numel(), ArrayOf(ids[f]), rows[f].data<int64_t>(), first,
                        static_cast<int32_t>(table.now + TtlOf(f))});
    first += ids[f].numel();
  }
  if (training)
    Train(ctx, table, features);
  else
    DispatchDevice(ctx.device(), [&](auto on) { internal::LookUpZch(on, ctx, table, features); });
  return rows;
}

void HashZchManagedCollisionModule::Train(Context& ctx, const internal::ZchTable& table,
                                          std::span<const internal::ZchFeature> features) {
  internal::ZchOptIn opt_in = {ctx.random().seed(), 0, 100};
  if (options_.opt_in_prob >= 1 && options_.opt_in_prob < 100)
    opt_in = {ctx.random().seed(), ctx.random().TakeSequence(), options_.opt_in_prob};
  internal::ZchOnDevice on_device = {};
  OnlyOnCuda(ctx.device(), [&](auto) {
    if (!claims_) {
      claims_ = Tensor::Full(ctx, {options_.zch_size}, -1, DType::kI32);
      changes_ = Tensor::Zeros(ctx, {1}, DType::kI64);
    }
    on_device = {claims_.data<int32_t>(), changes_.data<int64_t>()};
  });
  const Tensor changed = DispatchDevice(ctx.device(), [&](auto on) {
    return internal::TrainZch(on, ctx, table, features, opt_in, on_device);
  });
  if (changed) NoteUnread(changed);
  if (ctx.device() == Device::Cpu()) ReadSync();
}

std::vector<int64_t> HashZchManagedCollisionModule::ChangedSync(const Tensor& changed) const {
  const int64_t count = changed.Rows(0, 1).ToVector<int64_t>()[0];
  return count == 0 ? std::vector<int64_t>() : changed.Rows(1, 1 + count).ToVector<int64_t>();
}

int64_t HashZchManagedCollisionModule::num_evicted() const {
  const int64_t evicted = ManagedCollisionModule::num_evicted();
  if (!changes_) return evicted;
  return evicted + changes_.ToVector<int64_t>()[0] - NumChangedSync();
}

bool HashZchManagedCollisionModule::StartRows(
    const std::function<bool(const RowsToStart&)>& start) {
  if (!evicted_.empty() || unread_.size() != 1) return false;
  const Tensor& changed = unread_[0];
  if (!start({.rows = changed.Rows(1, changed.numel()), .count = changed.data<int64_t>()}))
    return false;
  unread_.clear();
  return true;
}

std::vector<NamedTensor> HashZchManagedCollisionModule::StateDict(Context& ctx) const {
  std::vector<int64_t> evicted = UnreadSync();
  evicted.insert(evicted.end(), evicted_.begin(), evicted_.end());
  std::vector<NamedTensor> state = {
      {"_hash_zch_identities", identities_.Clone(ctx)},
      {"_current_iter_tensor", Tensor::From<int32_t>(ctx, {static_cast<int32_t>(forwards_)})},
      {"_evicted_indices", Tensor::From(ctx, Ascending(std::move(evicted)))}};
  if (has_policy()) state.push_back({"_hash_zch_metadata", metadata_.Clone(ctx)});
  return state;
}

void HashZchManagedCollisionModule::LoadStateDict(Context& ctx,
                                                  const std::vector<NamedTensor>& tensors) {
  internal::StateReader reader(ctx, "hash ZCH " + options_.name, tensors);
  const Tensor identities = reader.Take("_hash_zch_identities", DType::kI64, identities_.shape());
  const Tensor metadata =
      has_policy() ? reader.Take("_hash_zch_metadata", DType::kI32, metadata_.shape()) : Tensor();
  const int64_t forwards = reader.TakeNumber("_current_iter_tensor").value_or(0);
  const std::optional<int64_t> buckets = reader.TakeNumber("_hash_zch_bucket");  // TorchRec's
  TESSERA_CHECK(buckets.value_or(options_.total_num_buckets) == options_.total_num_buckets,
                "state of hash ZCH {}: _hash_zch_bucket is {}; expected {}", options_.name,
                buckets.value_or(0), options_.total_num_buckets);
  reader.PassOver("_output_segments_tensor");
  std::vector<int64_t> evicted = reader.TakeRows("_evicted_indices", options_.zch_size);
  reader.Finish();
  if (has_policy()) CheckClock(options_, metadata, forwards);
  identities_.CopyFrom(ctx, identities);
  if (has_policy()) metadata_.CopyFrom(ctx, metadata);
  forwards_ = forwards;
  ReadSync();
  evicted_ = std::move(evicted);
}

}  // namespace tessera
