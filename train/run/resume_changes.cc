#include "train/run/resume_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "data/split/row_split.h"
#include "train/checkpoint/raw_id_places.h"

namespace tessera {
namespace {

enum class Verdict { kRefused, kData, kSaid, kSilent };

constexpr char kNumParts[] = "managed_collision.num_parts";

bool IsOneOf(const std::string& key, const std::set<std::string>& keys) {
  return keys.contains(key);
}

// The key of a list whose item a difference names: "features" of "features[2]".
std::string KeyOfItem(const std::string& key) { return key.substr(0, key.find('[')); }

// The verdict on a change of a table's key.
Verdict OfTable(const std::string& key, bool growing) {
  if (IsOneOf(key, {"features", "pooling", "dim", "dtype", "state_dtype", "optimizer.name",
                    "managed_collision.kind"}))
    return Verdict::kRefused;
  if (IsOneOf(key, {"rows", kNumParts})) return growing ? Verdict::kSaid : Verdict::kRefused;
  const bool place = key == "location" || key == "init_range" || key.starts_with("cache.");
  return place ? Verdict::kSilent : Verdict::kSaid;
}

Verdict OfDocument(const std::string& key) {
  if (key == "tables" || key == "optimizer.dense.name" || key.starts_with("model."))
    return Verdict::kRefused;
  // Another number of synthetic rows does not change the rows before.
  if (IsOneOf(key, {"data.rows", "data.eval_rows"})) return Verdict::kSaid;
  if (key == "data.prepared") return Verdict::kSilent;  // DataSets refuses other rows
  if (key.starts_with("data.")) return Verdict::kData;
  return key == "train.epochs" || key.starts_with("metrics") ? Verdict::kSilent : Verdict::kSaid;
}

class Changes {
 public:
  Changes(const ResumedRun& saved, bool other_data)
      : saved_(saved),
        data_counts_(saved.progress.row > 0 && !other_data),
        split_counts_(saved.progress.step > 0 && !other_data) {}

  void Compare(const TrainConfig& before, const TrainConfig& given) {
    warmup_comes_or_goes_ = before.warmup.empty() != given.warmup.empty();
    for (const auto& [was, is] : Differences(KeysOf(before), KeysOf(given)))
      Add(was, is, !was.table.empty() && IsGrowing(given, was.table));
  }
  void CompareData(const DataIdentity& was, const DataIdentity& is, bool shuffled,
                   const std::optional<SplitOptions>& split) {
    if (!(was.rows == is.rows)) {
      if (data_counts_ && shuffled)
        RefuseData("the range of rows, which are shuffled,", ToString(was.rows), ToString(is.rows));
      said_.push_back(Format("the range of rows was {}, is {}", was.rows, is.rows));
    }
    const size_t before = said_.size();
    for (size_t i = 0; i < std::max(was.paths.size(), is.paths.size()); ++i)
      ComparePath(i, was, is, shuffled, split);
    if (said_.size() > before && split && split->at_was_found)
      said_.push_back(FoundTimeText(*split));
  }
  std::vector<std::string> Sentences() {
    for (const auto& [change, tables] : of_tables_)
      said_.push_back(tables.size() == 1 ? Format("table '{}': {}", tables.front(), change)
                                         : Format("{} tables ('{}' to '{}'): {}", tables.size(),
                                                  tables.front(), tables.back(), change));
    return said_;
  }

 private:
  static bool IsGrowing(const TrainConfig& config, const std::string& table) {
    const auto found = config.managed_collision.find(table);
    return found != config.managed_collision.end() &&
           KindOf(found->second.module) == std::string("growing");
  }
  static std::string Value(const std::string& value) { return value.empty() ? "none" : value; }

  void Add(const ConfigKey& was, const ConfigKey& is, bool growing) {
    const std::string key = KeyOfItem(was.key);
    const Verdict verdict = was.table.empty() ? OfDocument(key) : OfTable(key, growing);
    if (verdict == Verdict::kSilent) return;
    if (verdict == Verdict::kRefused && key == kNumParts)
      throw Error(Format(
          "{}: {} was {} when it was saved, and is {} now: raw ids of growing tables alone go "
          "to other parts; go on with the saved number, or train a new model (without "
          "--resume)",
          saved_.path, was, Value(was.value), Value(is.value)));
    if (verdict == Verdict::kRefused)
      throw Error(
          Format("{}: {} was {} when it was saved, and is {} now: that is another model; go on "
                 "with the saved one (leave --config out), or train a new one (without --resume)",
                 saved_.path, was, Value(was.value), Value(is.value)));
    if (key == "optimizer.warmup" && warmup_comes_or_goes_)
      throw Error(
          Format("{}: {} was {} when it was saved, and is {} now: where a warm-up stands is part "
                 "of a training's state: go on with what was saved, or let optimizers start afresh "
                 "from its weights (tessera export --weights-only)",
                 saved_.path, key, Value(was.value), Value(is.value)));
    if (verdict == Verdict::kData && data_counts_)
      RefuseData(ToString(was), Value(was.value), Value(is.value));
    if (key.starts_with("data.split") && split_counts_)
      throw Error(Format(
          "{}: {} was {} when it was saved, and is {} now: rows that it was trained on would "
          "be for evaluation, or the other way round: go on with the saved split, or take "
          "the new one by --other-data",
          saved_.path, was.key, Value(was.value), Value(is.value)));
    const std::string change =
        Format("{} was {}, is {}", was.key, Value(was.value), Value(is.value));
    if (was.table.empty())
      said_.push_back(change);
    else
      of_tables_[change].push_back(was.table);
  }

  // A last file that has grown counts as if it had been so from the start.
  void ComparePath(size_t i, const DataIdentity& was, const DataIdentity& is, bool shuffled,
                   const std::optional<SplitOptions>& split) {
    const PathIdentity* const before = i < was.paths.size() ? &was.paths[i] : nullptr;
    const PathIdentity* const now = i < is.paths.size() ? &is.paths[i] : nullptr;
    if (before && now && before->SameContent(*now)) return;
    const bool grown =
        now && (!before || (before->is_file && i + 1 == was.paths.size() &&
                            before->head == now->head && before->bytes < now->bytes));
    const std::string was_text = before ? ToString(*before) : "none";
    const std::string is_text = now ? ToString(*now) : "none";
    if (data_counts_ && (!grown || shuffled))
      RefuseData(Format("--data[{}]", i), was_text, is_text);
    if (split_counts_ && split && GoesByOtherRows(*split) &&
        (!grown || split->by == SplitBy::kTime))
      throw Error(Format(
          "{}: --data[{}] was {} when it was saved, and is {} now. Of other data its data.split {} "
          "would keep rows for evaluation that it was trained on: go on with the data, or take "
          "the new ones by --other-data",
          saved_.path, i, was_text, is_text, *split));
    said_.push_back(Format("--data[{}] was {}, is {}", i, was_text, is_text));
  }

  [[noreturn]] void RefuseData(const std::string& what, const std::string& was,
                               const std::string& is) const {
    throw Error(Format(
        "{}: {} was {} when it was saved, and is {} now, but the checkpoint stands inside an "
        "epoch, at row {} of those data: go on with them, or take row {} of the new ones for "
        "it by --other-data",
        saved_.path, what, was, is, saved_.progress.row, saved_.progress.row));
  }

  const ResumedRun& saved_;
  const bool data_counts_, split_counts_;
  bool warmup_comes_or_goes_ = false;
  std::vector<std::string> said_;
  std::map<std::string, std::vector<std::string>> of_tables_;  // by what changed
};

}  // namespace

std::vector<std::string> ResumeChanges(const ResumedRun& saved, const TrainConfig& given,
                                       const DataIdentity& data, bool other_data) {
  Changes changes(saved, other_data);
  std::optional<SplitOptions> split = given.data.split;
  if (!saved.config.empty()) {
    const TrainConfig before = ParseTrainConfig(saved.config, saved.path);
    TrainConfig now = given;
    if (SeeksTime(before.data.split)) ForgetFoundTime(now.data.split);  // nobody kept it then
    split = now.data.split;
    CheckFindsRawIds(saved.path, before, now);
    changes.Compare(before, now);
  }
  if (!saved.progress.data.empty())
    changes.CompareData(DataIdentityFromText(saved.progress.data), data,
                        given.data.shuffle.has_value(), split);
  return changes.Sentences();
}

std::string GroupsChange(const TrainingProgress& saved, const std::string& groups) {
  if (saved.groups == groups) return "";
  const auto text = [](const std::string& of) { return of.empty() ? "no sharding groups" : of; };
  return Format("the ranks were in {}, are in {}", text(saved.groups), text(groups));
}

}  // namespace tessera
