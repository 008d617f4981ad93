#include "cli/show/work_progress.h"

#include <algorithm>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

std::string Line(const WorkState& state, const std::string& fraction, const char* between) {
  std::vector<std::string> parts = {state.step, fraction};
  parts.insert(parts.end(), state.facts.begin(), state.facts.end());
  std::erase(parts, "");
  return internal::Joined(parts, between);
}

}  // namespace

void AddTimeLeft(std::optional<double> seconds, WorkState& state) {
  if (!seconds) return;
  state.facts.push_back(Duration(*seconds) + " left");
  state.fields.emplace_back("seconds_left", *seconds);
}

std::optional<double> SecondsLeft(std::optional<double> fraction, double seconds) {
  if (!fraction || *fraction <= 0 || *fraction >= 1) return {};
  return seconds * (1 - *fraction) / *fraction;
}

std::string BarLine(const WorkState& state) {
  const auto& done = state.fraction;
  return Line(state, done ? Format("{} {:3.0f} %", Bar(*done), 100 * *done) : "", "  ");
}

std::string LogMessage(const WorkState& state) {
  return Line(state, state.fraction ? Format("{:.0f} %", 100 * *state.fraction) : "", " ");
}

std::chrono::duration<double> PauseOfLines(std::chrono::duration<double> taken) {
  constexpr std::chrono::duration<double> kShortest = std::chrono::seconds(10),
                                          kLongest = std::chrono::minutes(1);
  return std::clamp(taken / 6, kShortest, kLongest);
}

WorkProgress::WorkProgress()
    : shows_(ShowsProgress()), is_bar_(ShowsBar()), begin_(Clock::now()), next_(begin_) {
  next_ += Pause(begin_);
}

WorkProgress::Clock::duration WorkProgress::Pause(Clock::time_point now) const {
  if (is_bar_) return kRedraw;
  return std::chrono::duration_cast<Clock::duration>(PauseOfLines(now - begin_));
}

double WorkProgress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void WorkProgress::Show(const WorkState& state, Clock::time_point now) {
  if (is_bar_) {
    DrawBar(BarLine(state));
  } else {
    LogFields fields;
    if (state.fraction) fields.emplace_back("fraction", *state.fraction);
    fields.insert(fields.end(), state.fields.begin(), state.fields.end());
    NoteProgress(LogMessage(state), fields);
  }
  next_ = now + Pause(now);
}

}  // namespace tessera::cli
