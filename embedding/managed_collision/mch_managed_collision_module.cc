#include "embedding/managed_collision/mch_managed_collision_module.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "embedding/managed_collision/index/state_reader.h"
#include "runtime/device/dispatch.h"
#include "sparse/ids/unique.h"

namespace tessera {
namespace {

using internal::kNobody;

// Throws unless ids ascend, each once except nobody's, each row occurs once, and the miss row is
// last.
void CheckPlaces(const std::string& what, const std::vector<int64_t>& ids,
                 std::vector<int64_t> rows) {
  for (size_t p = 1; p < ids.size(); ++p)
    TESSERA_CHECK(ids[p - 1] < ids[p] || ids[p] == kNobody,
                  "state of {}: id {} after {} in _mch_sorted_raw_ids", what, ids[p], ids[p - 1]);
  TESSERA_CHECK(ids.back() == kNobody && rows.back() == std::ssize(rows) - 1,
                "state of {}: the last row is not the last place's, or somebody's", what);
  std::sort(rows.begin(), rows.end());
  for (size_t r = 0; r < rows.size(); ++r)
    TESSERA_CHECK_EQ(rows[r], static_cast<int64_t>(r),
                     "state of {}: rows in _mch_remapped_ids_mapping", what);
}

void CheckSlot(const std::string& what, const char* name, size_t slot, int64_t value, int64_t least,
               int64_t most) {
  if (value >= least && value <= most) return;
  const std::string expected =
      most == INT64_MAX ? Format("at least {}", least) : Format("{} to {}", least, most);
  TESSERA_FAIL("state of {}: slot {} of {}: expected {}, got {}", what, slot, name, expected,
               value);
}

// Checks what the policy remembers of each slot; a column that it does not keep is undefined. now:
// the number of forwards so far.
void CheckRemembered(const std::string& what, const Tensor& counts, const Tensor& last,
                     int64_t now) {
  const auto check = [&](const char* name, const Tensor& column, int64_t most) {
    if (!column.defined()) return;
    const std::vector<int64_t> values = column.ToVector<int64_t>();
    for (size_t p = 0; p < values.size(); ++p) CheckSlot(what, name, p, values[p], 0, most);
  };
  check("_mch_counts", counts, INT64_MAX);
  check("_mch_last_access_iter", last, now);
}

// Throws unless last accesses ascend, as the history was written.
void CheckHistoryAccesses(const std::string& what, const std::vector<int64_t>& ids,
                          const std::vector<int64_t>& last, int64_t now) {
  TESSERA_CHECK_EQ(ids.size(), last.size(), "state of {}: ids and accesses of the history", what);
  for (size_t i = 0; i < last.size(); ++i)
    CheckSlot(what, "_history_last_access_iter", i, last[i], i == 0 ? 0 : last[i - 1], now);
}

void CheckHistory(const std::string& what, const std::vector<int64_t>& size,
                  const std::vector<int64_t>& ids) {
  TESSERA_CHECK(ids.empty() || (!size.empty() && static_cast<int64_t>(ids.size()) <= size.front()),
                "state of {}: {} ids are more than the history holds", what, ids.size());
}

// The residual row of an id that has none of its own.
int64_t HashedMiss(const MchOptions& options, int64_t id) {
  const int64_t row = options.mch_hash_func(id, options.mch_size);
  if (row < 0 || row >= options.mch_size)
    throw Error(Format("MCH {}: mch_hash_func gives row {} for id {}; expected 0 to {}",
                       options.name, row, id, options.mch_size - 1));
  return row;
}

// A history of `size` ids that begins with these; undefined if there are none.
Tensor Restored(Context& ctx, const std::vector<int64_t>& history, int64_t size) {
  if (history.empty()) return {};
  const Tensor all = Tensor::Empty(ctx, {size}, DType::kI64);
  all.Rows(0, std::ssize(history)).CopyFrom(ctx, Tensor::From(ctx, history));
  return all;
}

}  // namespace

std::string ToString(MchEviction eviction) {
  switch (eviction) {
    case MchEviction::kLfu:
      return "LFU";
    case MchEviction::kLru:
      return "LRU";
    case MchEviction::kDistanceLfu:
      return "DISTANCE_LFU";
  }
  return "?";
}

MCHManagedCollisionModule::MCHManagedCollisionModule(MchOptions options)
    : options_(std::move(options)) {
  if (options_.name.empty()) options_.name = "without a name";
  const MchOptions& o = options_;
  TESSERA_CHECK_GE(o.zch_size, 1, "MCH {}: zch_size", o.name);
  TESSERA_CHECK_GE(o.eviction_interval, 1, "MCH {}: eviction_interval", o.name);
  TESSERA_CHECK_GE(o.input_hash_size, 1, "MCH {}: input_hash_size", o.name);
  TESSERA_CHECK_GE(o.mch_size, 0, "MCH {}: mch_size", o.name);
  TESSERA_CHECK(o.mch_size == 0 || o.mch_hash_func, "MCH {}: an mch_size without mch_hash_func",
                o.name);
  TESSERA_CHECK(o.eviction_policy.decay_exponent > 0, "MCH {}: decay_exponent {}; expected above 0",
                o.name, o.eviction_policy.decay_exponent);
  const auto column = [&](int64_t value) {
    const Tensor t = Tensor::EmptyHost({o.zch_size}, DType::kI64);
    std::ranges::fill(t.span<int64_t>(), value);
    return t;
  };
  list_.ids = column(kNobody);
  list_.rows = column(0);
  const auto rows = list_.rows.span<int64_t>();
  std::iota(rows.begin(), rows.end(), int64_t{0});
  if (has_counts()) list_.counts = column(0);
  if (has_last()) list_.last = column(0);
}

void MCHManagedCollisionModule::MoveTo(Context& ctx) {
  for (Tensor* t :
       {&list_.ids, &list_.rows, &list_.counts, &list_.last, &history_ids_, &history_last_})
    if (t->defined()) *t = t->To(ctx, ctx.device());
}

std::vector<Tensor> MCHManagedCollisionModule::Map(Context& ctx, std::span<const Tensor> given,
                                                   bool training) {
  MoveTo(ctx);
  std::vector<Tensor> ids, rows;
  for (const Tensor& feature : given) ids.push_back(Hashed(ctx, feature.To(ctx, DType::kI64)));
  if (training) ProfileSync(ctx, ids);
  for (const Tensor& feature : ids) rows.push_back(Remap(ctx, feature));
  return rows;
}

Tensor MCHManagedCollisionModule::Hashed(Context& ctx, const Tensor& ids) const {
  if (!options_.input_hash_func) return ids;
  const Tensor raw = ids.To(ctx, Device::Cpu()),
               hashed = Tensor::EmptyHost(ids.shape(), DType::kI64);
  for (int64_t i = 0; i < ids.numel(); ++i)
    hashed.data<int64_t>()[i] =
        options_.input_hash_func(raw.data<int64_t>()[i], options_.input_hash_size);
  return hashed.To(ctx, ctx.device());
}

void MCHManagedCollisionModule::ProfileSync(Context& ctx, std::span<const Tensor> ids) {
  ++iter_;
  if (history_size_ <= 0) {
    int64_t total = 0;
    for (const Tensor& feature : ids) total += feature.numel();
    history_size_ = static_cast<int64_t>(static_cast<double>(total) *
                                         static_cast<double>(options_.eviction_interval) * 1.25);
  }
  for (const Tensor& feature : ids) Append(ctx, feature);
  if (iter_ - last_eviction_iter_ < options_.eviction_interval) return;
  NoteEvicted(UpdateListSync(ctx));
  last_eviction_iter_ = iter_;
  history_used_ = 0;
}

void MCHManagedCollisionModule::Append(Context& ctx, const Tensor& ids) {
  const int64_t kept = std::min(history_size_ - history_used_, ids.numel());
  if (kept == 0) return;
  const auto append = [&](Tensor* history) {
    if (!history->defined()) *history = Tensor::Empty(ctx, {history_size_}, DType::kI64);
    return history->Rows(history_used_, history_used_ + kept);
  };
  append(&history_ids_).CopyFrom(ctx, ids.Rows(0, kept));
  if (has_last()) append(&history_last_).Fill(ctx, static_cast<double>(iter_));
  history_used_ += kept;
}

int64_t MCHManagedCollisionModule::NumIdsSync(Context&) const {
  const Tensor ids = list_.ids.ToHost();
  const auto sorted = ids.span<int64_t>();
  return std::ranges::lower_bound(sorted, kNobody) - sorted.begin();
}

Tensor MCHManagedCollisionModule::Remap(Context& ctx, const Tensor& ids) const {
  const int64_t n = ids.numel(), missing = options_.mch_size == 0 ? options_.zch_size - 1 : -1;
  Tensor rows = Tensor::Empty(ctx, {n}, DType::kI64);
  const internal::RemapByList remap = {internal::MchColumns(list_), ids.data<int64_t>(), missing,
                                       rows.data<int64_t>()};
  DispatchDevice(ctx.device(), [&](auto on) { internal::RemapIds(on, ctx, n, remap); });
  return options_.mch_size == 0 ? rows : WithHashedMisses(ctx, ids, rows);
}

Tensor MCHManagedCollisionModule::WithHashedMisses(Context& ctx, const Tensor& ids,
                                                   const Tensor& rows) const {
  const Tensor raw = ids.To(ctx, Device::Cpu()), all = rows.To(ctx, Device::Cpu());
  const auto* id = raw.data<int64_t>();
  auto* row = all.data<int64_t>();
  ParallelFor(ctx, ids.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (row[i] < 0) row[i] = options_.zch_size + HashedMiss(options_, id[i]);
  });
  return all.To(ctx, ctx.device());
}

std::vector<int64_t> MCHManagedCollisionModule::UpdateListSync(Context& ctx) {
  internal::MchCandidates candidates;
  if (history_used_ > 0) {
    const UniqueIds unique = Unique(ctx, history_ids_.Rows(0, history_used_));
    candidates = {unique.values, unique.counts, {}, Admitted(ctx, unique.counts)};
    if (has_last())
      candidates.last = DispatchDevice(ctx.device(), [&](auto on) {
        return internal::LatestOf(on, ctx, unique.inverse, history_last_.Rows(0, history_used_),
                                  unique.values.numel());
      });
  } else {
    for (Tensor* t : {&candidates.ids, &candidates.counts, &candidates.last})
      *t = Tensor::Empty(ctx, {0}, DType::kI64);
  }
  const MchEvictionPolicy& policy = options_.eviction_policy;
  const internal::MchScore score(policy.eviction, policy.decay_exponent, iter_);
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::UpdateListSync(on, ctx, &list_, candidates, score);
  });
}

Tensor MCHManagedCollisionModule::Admitted(Context& ctx, const Tensor& counts) const {
  const AdmissionFilter& filter = options_.eviction_policy.filter;
  if (!filter) return {};
  const std::vector<bool> admitted = filter(ctx, counts.ToVector<int64_t>());
  TESSERA_CHECK_EQ(static_cast<int64_t>(admitted.size()), counts.numel(),
                   "MCH {}: answers of the admission filter", options_.name);
  return Tensor::From(ctx, std::vector<uint8_t>(admitted.begin(), admitted.end()));
}

std::vector<NamedTensor> MCHManagedCollisionModule::StateDict(Context& ctx) const {
  const auto number = [&](int64_t value) { return Tensor::From<int64_t>(ctx, {value}); };
  const auto history = [&](const Tensor& all) {
    return history_used_ > 0 ? all.Rows(0, history_used_).Clone(ctx)
                             : Tensor::Empty(ctx, {0}, DType::kI64);
  };
  std::vector<NamedTensor> state = {
      {"_mch_sorted_raw_ids", list_.ids.Clone(ctx)},
      {"_mch_remapped_ids_mapping", list_.rows.Clone(ctx)},
      {"_current_iter_tensor", Tensor::From<int32_t>(ctx, {static_cast<int32_t>(iter_)})},
      {"_input_history_buffer_size", number(history_size_)},
      {"_last_eviction_iter", number(last_eviction_iter_)},
      {"_history_accumulator", history(history_ids_)},
      {"_evicted_emb_indices", Tensor::From(ctx, Ascending(evicted_))}};
  if (has_counts()) state.push_back({"_mch_counts", list_.counts.Clone(ctx)});
  if (has_last()) {
    state.push_back({"_mch_last_access_iter", list_.last.Clone(ctx)});
    state.push_back({"_history_last_access_iter", history(history_last_)});
  }
  return state;
}

void MCHManagedCollisionModule::LoadStateDict(Context& ctx,
                                              const std::vector<NamedTensor>& tensors) {
  const std::string what = "MCH " + options_.name;
  internal::StateReader reader(ctx, what, tensors);
  const auto column = [&](const char* name) {
    return reader.Take(name, DType::kI64, {options_.zch_size}).Clone(ctx);
  };
  internal::MchList list = {
      column("_mch_sorted_raw_ids"), column("_mch_remapped_ids_mapping"), {}, {}};
  if (has_counts()) list.counts = column("_mch_counts");
  if (has_last()) list.last = column("_mch_last_access_iter");
  const std::optional<int64_t> iter = reader.TakeNumber("_current_iter_tensor");
  TESSERA_CHECK(iter.has_value(), "state of {}: _current_iter_tensor is missing", what);
  const std::vector<int64_t> size = reader.TakeNumbers("_input_history_buffer_size"),
                             last_eviction = reader.TakeNumbers("_last_eviction_iter"),
                             history = reader.TakeNumbers("_history_accumulator");
  std::vector<int64_t> history_last,
      evicted = reader.TakeRows("_evicted_emb_indices", options_.zch_size);
  if (has_last()) history_last = reader.TakeNumbers("_history_last_access_iter");
  reader.PassOver("_output_segments_tensor");  // where TorchRec may cut the rows for ranks
  reader.Finish();
  CheckPlaces(what, list.ids.ToVector<int64_t>(), list.rows.ToVector<int64_t>());
  // TorchRec's iterations begin at -1, beside places that were last accessed in 0.
  const int64_t now = std::max<int64_t>(*iter, 0);
  CheckRemembered(what, list.counts, list.last, now);
  CheckHistory(what, size, history);
  if (has_last()) CheckHistoryAccesses(what, history, history_last, now);
  const int64_t history_size = size.empty() ? 0 : size.front();
  const Tensor history_ids = Restored(ctx, history, history_size),
               history_accesses = Restored(ctx, history_last, history_size);
  list_ = std::move(list);
  iter_ = *iter;
  last_eviction_iter_ = last_eviction.empty() ? *iter : last_eviction.front();
  history_size_ = history_size;
  history_used_ = std::ssize(history);
  history_ids_ = history_ids;
  history_last_ = history_accesses;
  evicted_ = std::move(evicted);
}

}  // namespace tessera
