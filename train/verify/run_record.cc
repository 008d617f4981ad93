#include "train/verify/run_record.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "comm/leader.h"
#include "quant/wire_codec.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/files/write_line.h"
#include "runtime/json/json_object.h"
#include "train/config/config_keys.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonObject;

constexpr char kVersionKey[] = "tessera_verify", kConfigKey[] = "config",
               kPipelineKey[] = "pipeline", kRanksKey[] = "ranks", kCodecsKey[] = "wire_codecs",
               kCutsKey[] = "cuts", kStepKey[] = "step", kStateKey[] = "state_after";
constexpr int64_t kVersion = 2;
constexpr size_t kDigits = 16;  // of each of a digest's numbers
constexpr char kMend[] =
    "bring the whole file back, name another one, or remove it to begin a new "
    "record";

std::string ToText(const LocatedSum& sum) {
  const auto& [a, b, c] = sum.sums();
  return Format("{:016x}{:016x}{:016x}", a, b, c);
}

LocatedSum ReadSum(JsonObject& object, const char* key) {
  std::string text;
  object.Required(key, text);
  std::array<uint64_t, 3> sums = {};
  bool good = text.size() == sums.size() * kDigits;
  for (size_t i = 0; good && i < sums.size(); ++i) {
    const char* const begin = text.data() + i * kDigits;
    const auto [end, error] = std::from_chars(begin, begin + kDigits, sums[i], 16);
    good = error == std::errc() && end == begin + kDigits && LocatedSum::IsElement(sums[i]);
  }
  if (!good)
    throw Error(
        Format("{}: expected three numbers below 2^61 − 1, of {} hexadecimal digits each, got "
               "\"{}\"",
               object.at(key), kDigits, text));
  return LocatedSum::From(sums);
}

// The pipelines but semi_sync train with the same bits.
std::string NameOf(PipelineKind pipeline) {
  return std::string(
      ToString(pipeline == PipelineKind::kSemiSync ? pipeline : PipelineKind::kNone));
}

// Whether a key may differ between runs of the same bits.
bool ChangesNoBit(const ConfigKey& key) {
  if (!key.table.empty()) return key.key == "location" || key.key.starts_with("cache.");
  return key.key == "train.epochs" || key.key.starts_with("metrics") ||
         key.key.starts_with("evaluation");
}

// "cut at rows 0, 30", "cut at columns 0, 8": where parts begin; "" for a table of one part, or of
// copies.
std::string CutsOf(const TableSharding& sharding) {
  if (sharding.type == ShardingType::kDataParallel) return "";
  std::set<int64_t> rows, columns;
  for (const Shard& shard : sharding.shards) {
    if (shard.rows > 0) rows.insert(shard.row_offset);
    columns.insert(shard.column_offset);
  }
  std::string text;
  for (const auto& [name, offsets] : {std::pair{"rows", &rows}, std::pair{"columns", &columns}}) {
    if (offsets->size() < 2) continue;
    text += Format("{}cut at {}", text.empty() ? "" : " and ", name);
    const char* separator = " ";
    for (const int64_t offset : *offsets)
      text += std::exchange(separator, ", ") + Format("{}", offset);
  }
  return text;
}

std::string OrWhole(const std::map<std::string, std::string>& cuts, const std::string& table) {
  const auto found = cuts.find(table);
  return found == cuts.end() ? "whole" : found->second;
}

std::string RanksText(int64_t ranks) {
  return ranks == 1 ? "one process" : Format("{} ranks", ranks);
}

}  // namespace

RunTerms TermsOf(PipelineKind pipeline, const std::optional<TrainingRanks>& ranks) {
  RunTerms terms{.pipeline = pipeline};
  if (!ranks) return terms;
  terms.ranks = ranks->comm->size();
  terms.wire_codecs = ToString(ranks->codecs);
  for (const auto& [table, sharding] : ranks->plan.tables)
    if (std::string cuts = CutsOf(sharding); !cuts.empty()) terms.cuts[table] = std::move(cuts);
  return terms;
}

RunRecord::RunRecord(std::string path, const TrainConfig& config, const RunTerms& terms,
                     Communicator* comm)
    : path_(std::move(path)), terms_(terms), recorded_cuts_(terms.cuts) {
  std::string text = comm == nullptr ? TextHere()
                                     : InvokeOnRankAndBroadcastBytes(*comm, 0, "record of --verify",
                                                                     [&] { return TextHere(); });
  writes_ = comm == nullptr || IsLeader(*comm);
  if (!text.empty() && !text.starts_with(Format("{{\"{}\":", kVersionKey)))
    throw Error(Format(
        "{}:1: it is no record of tessera train --verify: expected {{\"{}\": …, got '{}': name "
        "another file",
        path_, kVersionKey, text.substr(0, std::min<size_t>(text.find('\n'), 40))));
  if (!text.empty() && text.find('\n') == std::string::npos)
    throw Error(
        Format("{}:1: expected a whole line that says of which training the record is, got one "
               "that is cut off: {}",
               path_, kMend));
  text.resize(text.rfind('\n') + 1);  // 0 where the file is new
  bytes_ = text.size();
  if (!text.empty())
    Read(text, config);
  else
    first_line_ = Json{{kVersionKey, kVersion},  {kPipelineKey, NameOf(terms.pipeline)},
                       {kRanksKey, terms.ranks}, {kCodecsKey, terms.wire_codecs},
                       {kCutsKey, terms.cuts},   {kConfigKey, internal::ParseJson(ToJson(config))}}
                      .dump();
}

std::string RunRecord::TextHere() const {
  constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();  // a line for each step
  return IsThere(path_) ? ReadTextFile(path_, kAnyBytes) : "";
}

void RunRecord::Read(const std::string& text, const TrainConfig& config) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  ReadBegin(line, config);
  for (int64_t number = 2; std::getline(lines, line); ++number)
    ReadLine(line, Format("{}:{}", path_, number));
}

void RunRecord::ReadBegin(const std::string& line, const TrainConfig& config) {
  std::string config_text, pipeline;
  RunTerms recorded;
  try {
    const Json json = internal::ParseJson(line);
    JsonObject object(json, "");
    int64_t version = 0;
    object.Required(kVersionKey, version);
    if (version != kVersion)
      throw Error(
          Format("{}: this library reads version {}, got {}", kVersionKey, kVersion, version));
    object.Required(kPipelineKey, pipeline);
    object.Required(kRanksKey, recorded.ranks);
    object.Required(kCodecsKey, recorded.wire_codecs);
    recorded_cuts_ = object.Require(kCutsKey).get<std::map<std::string, std::string>>();
    config_text = object.Require(kConfigKey).dump();
  } catch (const std::exception& error) {
    throw Error(Format("{}:1: it is no record of tessera train --verify: {}: {}", path_,
                       error.what(), kMend));
  }
  CheckTerms(recorded, pipeline);
  for (const auto& [was, is] :
       Differences(KeysOf(ParseTrainConfig(config_text, path_)), KeysOf(config)))
    if (!ChangesNoBit(was.key.empty() ? is : was))
      throw Error(Format(
          "{}: the record is of another configuration: {} was {}, is {}: train with "
          "what it was, or name another file",
          path_, ToString(was.key.empty() ? is : was), was.value.empty() ? "not given" : was.value,
          is.value.empty() ? "not given" : is.value));
}

void RunRecord::CheckTerms(const RunTerms& recorded, const std::string& recorded_pipeline) const {
  if (recorded_pipeline != NameOf(terms_.pipeline))
    throw Error(
        Format("{}: the record is of --pipeline {}, whose bits are not those of {}: train "
               "with that pipeline, or name another file",
               path_, recorded_pipeline, NameOf(terms_.pipeline)));
  if (recorded.ranks != terms_.ranks)
    throw Error(
        Format("{}: the record is of a training on {}, whose sums over a batch are in another "
               "order than those of {}: train on as many ranks, or name another file",
               path_, RanksText(recorded.ranks), RanksText(terms_.ranks)));
  if (recorded.wire_codecs != terms_.wire_codecs)
    throw Error(
        Format("{}: the record is of --wire-codecs {}, whose bits are not those of {}: train "
               "with these codecs, or name another file",
               path_, recorded.wire_codecs, terms_.wire_codecs));
}

std::string RunRecord::OtherCuts() const {
  for (const auto& cuts : {recorded_cuts_, terms_.cuts})
    for (const auto& [table, cut] : cuts)
      if (const std::string was = OrWhole(recorded_cuts_, table), is = OrWhole(terms_.cuts, table);
          was != is)
        return Format("table {} was {}, is {}", table, was, is);
  return "";
}

void RunRecord::ReadLine(const std::string& line, const std::string& where) {
  try {
    const Json json = internal::ParseJson(line);
    JsonObject object(json, "");
    const bool is_step = object.Has(kStepKey);
    int64_t step = 0;
    object.Required(is_step ? kStepKey : kStateKey, step);
    StepDigest digest;
    if (is_step) digest.batch = ReadSum(object, "batch");
    digest.rows = ReadSum(object, "rows");
    digest.dense = ReadSum(object, "dense");
    object.Finish();
    (is_step ? steps_ : states_)[step] = digest;
  } catch (const Error& error) {
    throw Error(Format("{}: {}: {}", where, error.what(), kMend));
  }
}

const StepDigest* RunRecord::Find(const Digests& digests, int64_t step) {
  const auto found = digests.find(step);
  return found == digests.end() ? nullptr : &found->second;
}

int64_t RunRecord::LastBefore(int64_t step) const {
  const auto at = steps_.lower_bound(step);
  return at == steps_.begin() ? 0 : std::prev(at)->first;
}

void RunRecord::AddStep(int64_t step, const StepDigest& digest) {
  AddLine(Json{{kStepKey, step},
               {"batch", ToText(digest.batch)},
               {"rows", ToText(digest.rows)},
               {"dense", ToText(digest.dense)}}
              .dump());
  steps_[step] = digest;
}

void RunRecord::AddState(int64_t step, const StepDigest& digest) {
  AddLine(Json{{kStateKey, step}, {"rows", ToText(digest.rows)}, {"dense", ToText(digest.dense)}}
              .dump());
  states_[step] = digest;
}

void RunRecord::Open() {
  std::error_code error;
  if (std::filesystem::file_size(path_, error) > bytes_ && !error)
    std::filesystem::resize_file(path_, bytes_, error);
  if (error && IsThere(path_))
    throw Error(Format("{}: cannot be written: {}", path_, error.message()));
  file_.open(path_, std::ios::app);
  if (!first_line_.empty()) file_ << first_line_ << '\n';
}

void RunRecord::AddLine(const std::string& line) {
  if (!writes_) return;
  errno = 0;
  if (!file_.is_open()) Open();
  WriteLine(file_, path_, line);
}

}  // namespace tessera
