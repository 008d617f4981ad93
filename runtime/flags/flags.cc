#include "runtime/flags/flags.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/flags/mistake_text.h"

namespace tessera::internal {
namespace {

// Checks a value without a mark in the help.
CLI::Validator Unmarked(CLI::Validator check) {
  check.description("");
  return check;
}

// Says what is expected of a value that is no number from low to high; "" for one that is.
template <typename T>
std::string OutOfRange(const char* what, T low, T high, std::string& text) {
  T number{};  // a NaN is in no range, but CLI11 would let it pass
  if (CLI::Range(low, high)(text).empty() && CLI::detail::lexical_cast(text, number) &&
      number >= low && number <= high)
    return "";
  const bool open = high == std::numeric_limits<T>::max();
  return Format("expected a {} {}, got '{}'", what,
                open ? Format("of at least {}", low) : Format("from {} to {}", low, high), text);
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    return OptionText(CLI::Formatter::make_option_opts(option), option->get_default_str());
  }
};

}  // namespace

Flag& Flag::Required() {
  option_->required();
  return *this;
}

Flag& Flag::Value(const std::string& name) {
  option_->type_name(name);
  if (name == "TEXT") return *this;
  // "$FILE" of a variable that is not set would otherwise mean that the flag was not given.
  const auto is_there = [name](const std::string& value) {
    return value.empty() ? Format("expected {}, got an empty value", name) : std::string();
  };
  option_->check(CLI::Validator(is_there, ""));
  return *this;
}

Flag& Flag::Within(const NumberRange& range) {
  const auto is_within = [range](std::string& text) {
    return range.whole ? OutOfRange("whole number", range.low, range.high, text)
                       : OutOfRange("number", range.real_low, range.real_high, text);
  };
  option_->check(CLI::Validator(is_within, ""));
  return *this;
}

Flag& Flag::OneOf(const std::vector<std::string>& words) {
  option_->check(Unmarked(CLI::IsMember(words)));
  return *this;
}

Flag& Flag::OneAtATime() {
  option_->allow_extra_args(false);
  return *this;
}

Flag& Flag::Delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Flag& Flag::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Flag& Flag::ShowDefault(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Flag& Flag::Group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Flag& Flag::Excludes(const Flag& other) {
  option_->excludes(other.option_);
  return *this;
}

Flag& Flag::Needs(const Flag& other) {
  option_->needs(other.option_);
  return *this;
}

Flag& Flag::Needs(const std::string& other) {
  option_->needs(other);
  return *this;
}

template <typename T>
Flag Flags::Add(const std::string& names, T& value, const std::string& help) {
  if constexpr (std::is_same_v<T, bool>)
    return Flag(app_->add_flag(names, value, help));
  else
    return Flag(app_->add_option(names, value, help));
}
template Flag Flags::Add(const std::string&, bool&, const std::string&);
template Flag Flags::Add(const std::string&, int&, const std::string&);
template Flag Flags::Add(const std::string&, int64_t&, const std::string&);
template Flag Flags::Add(const std::string&, uint64_t&, const std::string&);
template Flag Flags::Add(const std::string&, double&, const std::string&);
template Flag Flags::Add(const std::string&, std::string&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<int>&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<int64_t>&, const std::string&);
template Flag Flags::Add(const std::string&, std::optional<double>&, const std::string&);
template Flag Flags::Add(const std::string&, std::vector<int>&, const std::string&);
template Flag Flags::Add(const std::string&, std::vector<int64_t>&, const std::string&);
template Flag Flags::Add(const std::string&, std::vector<std::string>&, const std::string&);

void Flags::ShowDefaults() { app_->option_defaults()->always_capture_default(); }

ProgramFlags::ProgramFlags(const std::string& description)
    : ProgramFlags(std::make_shared<CLI::App>(description)) {}

ProgramFlags::ProgramFlags(std::shared_ptr<CLI::App> own) : Flags(own.get()), own_(std::move(own)) {
  own_->formatter(std::make_shared<HelpFormatter>());
  ShowDefaults();
}

bool ProgramFlags::Parse(int argc, char** argv, const std::string& whose) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    app_->exit(help);
    return false;
  } catch (const CLI::ExtrasError&) {
    throw Error(Format("{}: not expected{}", Joined(app_->remaining(), " "),
                       whose.empty() ? " (see --help)" : " by " + whose));
  } catch (const CLI::ParseError& error) {
    throw Error(Format("{} (see --help)", MistakeText(error.what())));
  }
  return true;
}

}  // namespace tessera::internal
