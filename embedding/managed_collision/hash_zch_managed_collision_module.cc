#include "embedding/managed_collision/hash_zch_managed_collision_module.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "embedding/managed_collision/state_reader.h"
#include "runtime/isa.h"

namespace tessera {
namespace internal {
namespace {

void FindSlots(IsaLevel level, const ZchSlots& slots, IndexArray ids, int64_t begin, int64_t end,
               int64_t* found) {
  TESSERA_CALL_ISA(level, FindSlots, slots, ids, begin, end, found);
}

}  // namespace
}  // namespace internal

namespace {

using internal::kEmptySlot;
using internal::ZchPlace;
using internal::ZchSlots;

// Times are 32-bit numbers.
constexpr int64_t kMaxTtl = int64_t{1} << 30;

IndexArray ArrayOf(const Tensor& ids) { return {ids.raw_data(), ids.dtype() == DType::kI64}; }

void CheckTtl(const HashZchOptions& o) {
  if (o.eviction == HashZchEviction::kSingleTtl)
    TESSERA_CHECK_GE(o.single_ttl, 1, "hash ZCH {}: single_ttl", o.name);
  TESSERA_CHECK(o.single_ttl >= 0 && o.single_ttl <= kMaxTtl, "hash ZCH {}: a single_ttl of {}",
                o.name, o.single_ttl);
  TESSERA_CHECK_EQ(!o.per_feature_ttl.empty(), o.eviction == HashZchEviction::kPerFeatureTtl,
                   "hash ZCH {}: per_feature_ttl with the eviction {}", o.name,
                   ToString(o.eviction));
  for (const int64_t ttl : o.per_feature_ttl)
    TESSERA_CHECK(ttl >= 1 && ttl <= kMaxTtl, "hash ZCH {}: a per_feature_ttl of {}", o.name, ttl);
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
                "hash ZCH {}: LRU_EVICTION does not go with opt-in", o.name);
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

HashZchManagedCollisionModule::HashZchManagedCollisionModule(Context& ctx, HashZchOptions options)
    : options_(std::move(options)) {
  const HashZchOptions& o = options_;
  TESSERA_CHECK_GE(o.zch_size, 1, "hash ZCH {}: zch_size", o.name);
  TESSERA_CHECK_GE(o.total_num_buckets, 1, "hash ZCH {}: total_num_buckets", o.name);
  TESSERA_CHECK_EQ(o.zch_size % o.total_num_buckets, 0,
                   "hash ZCH {}: zch_size {} over {} buckets leaves", o.name, o.zch_size,
                   o.total_num_buckets);
  TESSERA_CHECK_GE(o.max_probe, 1, "hash ZCH {}: max_probe", o.name);
  TESSERA_CHECK_GE(o.input_hash_size, 0, "hash ZCH {}: input_hash_size", o.name);
  CheckTtl(o);
  CheckOptIn(o);
  const int64_t bucket = o.zch_size / o.total_num_buckets;
  if (o.opt_in_prob != -1) {
    reserved_ = static_cast<int64_t>(
        std::floor(static_cast<double>(bucket) * o.percent_reserved_slots / 100));
    TESSERA_CHECK(
        reserved_ >= 1 && reserved_ < bucket,
        "hash ZCH {}: {} % of a bucket's {} slots are {} reserved ones; opt-in needs one, "
        "and one that is not",
        o.name, o.percent_reserved_slots, bucket, reserved_);
  }
  identities_ = Tensor::Full(ctx, {o.zch_size, 1}, kEmptySlot, DType::kI64);
  if (has_policy()) metadata_ = Tensor::Full(ctx, {o.zch_size, 1}, -1, DType::kI32);
}

ZchSlots HashZchManagedCollisionModule::Slots() const {
  return {identities_.data<int64_t>(),
          options_.total_num_buckets,
          options_.zch_size / options_.total_num_buckets,
          reserved_,
          options_.input_hash_size,
          options_.max_probe};
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

Tensor HashZchManagedCollisionModule::Find(Context& ctx, const Tensor& ids) const {
  Tensor found = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
  const ZchSlots slots = Slots();
  const IsaLevel level = SparseIsa();
  ParallelFor(ctx, ids.numel(), 4096, [&](int64_t begin, int64_t end) {
    internal::FindSlots(level, slots, ArrayOf(ids), begin, end, found.data<int64_t>());
  });
  return found;
}

void HashZchManagedCollisionModule::Renew(std::span<const int64_t> slots, int64_t until) {
  auto* times = metadata_.data<int32_t>();
  for (const int64_t slot : slots)
    if (slot >= 0) times[slot] = std::max(times[slot], static_cast<int32_t>(until));
}

std::vector<Tensor> HashZchManagedCollisionModule::Map(Context& ctx, std::span<const Tensor> ids,
                                                       bool training) {
  if (!options_.per_feature_ttl.empty())
    TESSERA_CHECK_EQ(ids.size(), options_.per_feature_ttl.size(),
                     "hash ZCH {}: features, for as many TTLs", options_.name);
  if (training) ++forwards_;
  const int64_t now = Now();
  std::vector<Tensor> rows;
  for (size_t f = 0; f < ids.size(); ++f) {
    rows.push_back(Find(ctx, ids[f]));
    if (training && has_policy()) Renew(rows[f].span<int64_t>(), now + TtlOf(f));
  }
  const bool by_chance = training && options_.opt_in_prob >= 1 && options_.opt_in_prob < 100;
  const uint64_t seed = ctx.random().seed(), sequence = by_chance ? ctx.random().TakeSequence() : 0;
  uint64_t number = 0;  // of an id, over all features
  const auto opts_in = [&] {
    if (!by_chance) return training;
    const PhiloxBits bits = Philox(seed, sequence, number);
    return UniformBelow(100, bits.v[0], bits.v[1]) < options_.opt_in_prob;
  };
  for (size_t f = 0; f < ids.size(); ++f) {
    const IndexArray id = ArrayOf(ids[f]);
    auto* row = rows[f].data<int64_t>();
    for (int64_t i = 0; i < ids[f].numel(); ++i, ++number) {
      if (row[i] < 0 && training) row[i] = Insert(id[i], now, now + TtlOf(f), opts_in());
      if (row[i] < 0) row[i] = Fallback(id[i]);
    }
  }
  return rows;
}

int64_t HashZchManagedCollisionModule::Insert(int64_t id, int64_t now, int64_t until,
                                              bool opts_in) {
  if (id == kEmptySlot) return -1;
  const ZchSlots slots = Slots();
  const ZchPlace place = slots.PlaceOf(id);
  auto* identities = identities_.data<int64_t>();
  const auto* times = has_policy() ? metadata_.data<int32_t>() : nullptr;
  const bool lru = options_.eviction == HashZchEviction::kLru;
  int64_t own = -1, empty = -1, expired = -1;
  for (int64_t probe = 0; probe < slots.probes() && own < 0 && empty < 0; ++probe) {
    const int64_t slot = slots.Slot(place, probe);
    if (identities[slot] == id)
      own = slot;  // an earlier occurrence in the batch took it
    else if (identities[slot] == kEmptySlot)
      empty = slot;
    else if (times && times[slot] < now && (expired < 0 || (lru && times[slot] < times[expired])))
      expired = slot;
  }
  if (own < 0 && !opts_in) return -1;
  const bool evicts = own < 0 && expired >= 0 && !(lru && empty >= 0);
  const int64_t slot = own >= 0 ? own : evicts ? expired : empty;
  if (slot < 0) return -1;
  if (evicts) NoteEvicted(slot);
  identities[slot] = id;
  if (has_policy()) Renew({&slot, 1}, until);
  return slot;
}

int64_t HashZchManagedCollisionModule::Fallback(int64_t id) const {
  const ZchSlots slots = Slots();
  const ZchPlace place = slots.PlaceOf(id);
  if (reserved_ > 0)
    return place.base + slots.open() +
           static_cast<int64_t>(place.hash % static_cast<uint64_t>(reserved_));
  return options_.disable_fallback ? -1 : place.base + place.start;
}

std::vector<NamedTensor> HashZchManagedCollisionModule::StateDict(Context& ctx) const {
  std::vector<NamedTensor> state = {
      {"_hash_zch_identities", identities_.Clone(ctx)},
      {"_current_iter_tensor", Tensor::From<int32_t>(ctx, {static_cast<int32_t>(forwards_)})},
      {"_evicted_indices", Tensor::From(ctx, evicted_)}};
  if (has_policy()) state.push_back({"_hash_zch_metadata", metadata_.Clone(ctx)});
  return state;
}

void HashZchManagedCollisionModule::LoadStateDict(Context& ctx,
                                                  const std::vector<NamedTensor>& tensors) {
  const std::string what = "hash ZCH " + options_.name;
  internal::StateReader reader(ctx, what, tensors);
  const Tensor identities = reader.Take("_hash_zch_identities", DType::kI64, identities_.shape());
  const Tensor metadata =
      has_policy() ? reader.Take("_hash_zch_metadata", DType::kI32, metadata_.shape()) : Tensor();
  const Tensor iter = reader.TakeIfThere("_current_iter_tensor", DType::kI32, {1});
  std::vector<int64_t> evicted = reader.TakeNumbers("_evicted_indices");
  reader.Finish();
  for (const int64_t slot : evicted)
    TESSERA_CHECK(IsRow(slot, options_.zch_size), "state of {}: evicted slot {}", what, slot);
  identities_.CopyFrom(ctx, identities);
  if (has_policy()) metadata_.CopyFrom(ctx, metadata);
  forwards_ = iter.defined() ? iter.ToVector<int32_t>().front() : 0;
  evicted_ = std::move(evicted);
}

}  // namespace tessera
