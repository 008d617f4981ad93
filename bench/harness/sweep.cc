#include "bench/harness/sweep.h"

#include <regex.h>

#include <algorithm>
#include <cstring>

#include "bench/harness/measurement.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"

namespace tessera::bench {
namespace {

void CheckValues(const Axis& axis, const std::vector<std::string>& values) {
  if (values.empty()) throw Error(Format("--{}: expected a value", axis.name));
  for (const std::string& value : values) {
    try {
      if (axis.check) axis.check(value);
    } catch (const Error& error) {
      throw Error(Format("--{}: {}", axis.name, error.what()));
    }
    if (std::count(values.begin(), values.end(), value) > 1)
      throw Error(Format("--{}: {} is given twice", axis.name, value));
  }
}

// The axes with the values that flags give them.
std::vector<Axis> Chosen(const Topic& topic, const AxisValues& flags) {
  std::vector<Axis> axes = AxesOf(topic);
  for (Axis& axis : axes) {
    if (const auto flag = flags.find(axis.name); flag != flags.end()) axis.values = flag->second;
    CheckValues(axis, axis.values);
  }
  return axes;
}

// The values that distinguish the point; "default" if none does.
std::string LabelOf(const std::vector<Axis>& axes, const std::vector<Axis>& defaults,
                    const PointValues& values) {
  std::string label;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].name == "threads") continue;
    if (axes[a].values.size() < 2 &&
        (axes[a].name == kCachesAxis || axes[a].values == defaults[a].values))
      continue;
    label += (label.empty() ? "" : ",") + axes[a].name + "=" + values[a].second;
  }
  return label.empty() ? "default" : label;
}

// Counts through the product of the axes' values, the last axis fastest.
std::vector<PointValues> ProductOf(const std::vector<Axis>& axes) {
  std::vector<PointValues> all = {{}};
  for (const Axis& axis : axes) {
    std::vector<PointValues> longer;
    for (const PointValues& values : all) {
      for (const std::string& value : axis.values) {
        longer.push_back(values);
        longer.back().emplace_back(axis.name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<Point> SweepPoints(const Topic& topic, const std::vector<Axis>& axes) {
  const std::vector<Axis> defaults = AxesOf(topic);
  std::vector<Point> points;
  for (PointValues& values : ProductOf(axes)) {
    std::string label = LabelOf(axes, defaults, values);
    points.emplace_back(std::move(label), std::move(values));
  }
  return points;
}

const Suite& FindSuite(const Topic& topic, const std::string& name) {
  std::vector<std::string> names;
  for (const Suite& suite : topic.suites) {
    if (suite.name == name) return suite;
    names.push_back(suite.name);
  }
  throw Error(Format("{}: no suite '{}': {}", topic.name, name,
                     names.empty() ? "it has none" : "expected " + ListOfNames(names)));
}

// Whether a suite's cases are repeated for each value of the axis.
bool RepeatsSuites(const std::string& axis) { return axis == "threads" || axis == kCachesAxis; }

// The suite's point on every axis, once for each of its numbers of threads and states of caches.
void AddSuitePoint(const Point& point, const std::vector<Axis>& axes, const AxisValues& flags,
                   std::vector<Point>& points) {
  for (const auto& [name, value] : point.values())
    if (std::none_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; }))
      throw Error(Format("{} of the suite: the topic has no axis '{}'", point.label(), name));
  std::vector<Axis> fixed = axes;
  for (Axis& axis : fixed) {
    const bool own = point.Has(axis.name), flag = flags.count(axis.name) > 0;
    if (own && flag && !RepeatsSuites(axis.name))
      throw Error(Format("--{}: {} of the suite sets it itself", axis.name, point.label()));
    if (own) {
      axis.values = {point.Text(axis.name)};
      CheckValues(axis, axis.values);
    } else if (!RepeatsSuites(axis.name)) {
      if (flag && axis.values.size() > 1)
        throw Error(Format("--{}: a suite's cases take one value", axis.name));
      axis.values.resize(1);
    }
  }
  const bool say_caches = fixed[fixed.size() - 2].values.size() > 1;
  for (PointValues& values : ProductOf(fixed)) {
    const std::string& caches = values[values.size() - 2].second;
    std::string label =
        say_caches ? Format("{},{}={}", point.label(), kCachesAxis, caches) : point.label();
    points.emplace_back(std::move(label), std::move(values));
  }
}

class Pattern {
 public:
  explicit Pattern(const std::string& text) {
    if (regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
      throw Error(Format("--only: '{}' is no regular expression", text));
  }
  ~Pattern() { regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  bool Matches(const std::string& text) const {
    return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_;
};

Axis CachesAxis(const Topic& topic) {
  std::string automatic = topic.cold ? "cold" : "warm";
  if (!topic.small_calls.empty()) automatic += ", but warm for " + topic.small_calls;
  return {kCachesAxis,
          {"auto"},
          Format("of each call: cold (all are flushed before it), warm (none are) or auto ({})",
                 automatic),
          OneOf({"auto", "cold", "warm"})};
}

}  // namespace

std::vector<Axis> AxesOf(const Topic& topic) {
  std::vector<Axis> axes = topic.axes;
  Axis threads = {
      "threads", {std::to_string(DefaultThreads())}, "threads of a call", WholeFrom(1, 4096)};
  const auto own =
      std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.name == "threads"; });
  if (own != axes.end()) {
    threads = *own;
    axes.erase(own);
  }
  axes.push_back(CachesAxis(topic));
  axes.push_back(std::move(threads));
  return axes;
}

bool StartsCold(const Topic& topic, const Point& point) {
  const std::string& caches = point.Text(kCachesAxis);
  return caches == "cold" || (caches == "auto" && topic.cold);
}

std::string CachesOf(const Topic& topic, const std::vector<Point>& points) {
  bool cold = false, warm = false, small = false;
  for (const Point& point : points) {
    (StartsCold(topic, point) ? cold : warm) = true;
    small = small ||
            (point.Text(kCachesAxis) == "auto" && topic.may_be_small && topic.may_be_small(point));
  }
  const std::string text = cold && warm ? "cold and warm caches"
                           : cold       ? "cold caches"
                                        : "warm caches";
  return small ? Format("{}, warm for {}", text, topic.small_calls) : text;
}

std::vector<Point> PointsOf(const Topic& topic, const std::string& suite, const AxisValues& flags) {
  const std::vector<Axis> axes = Chosen(topic, flags);
  if (suite.empty()) return SweepPoints(topic, axes);
  std::vector<Point> points;
  for (const Point& point : FindSuite(topic, suite).points)
    AddSuitePoint(point, axes, flags, points);
  return points;
}

std::string NameOf(const Topic& topic, const Point& point) {
  return Format("{}/{}/{}t", topic.name, point.label(), point.Text("threads"));
}

std::vector<Point> OnlyMatching(const Topic& topic, const std::vector<Point>& points,
                                const std::string& regex) {
  if (regex.empty()) return points;
  const Pattern pattern(regex);
  std::vector<Point> kept;
  for (const Point& point : points)
    if (pattern.Matches(point.label()) || pattern.Matches(NameOf(topic, point)))
      kept.push_back(point);
  if (kept.empty())
    throw Error(
        Format("--only: '{}' matches none of {} cases; --list prints them", regex, points.size()));
  return kept;
}

std::string OnlyThese(const std::set<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) {
    text += text.empty() ? "^(" : "|";
    for (const char c : label) {
      if (std::strchr(".[]{}()\\*+?|^$", c) != nullptr) text += '\\';
      text += c;
    }
  }
  return text + ")$";
}

std::string ListOfNames(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i)
    list += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  return list;
}

}  // namespace tessera::bench
