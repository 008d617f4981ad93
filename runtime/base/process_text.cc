#include "runtime/base/process_text.h"

#include <ctime>
#include <fstream>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// "2026-11-26T07:40:12".
std::string UtcSeconds(std::time_t time) {
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

}  // namespace

std::string UtcTimeText() { return UtcSeconds(std::time(nullptr)) + "Z"; }

std::string UtcTimeText(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time - seconds);
  return Format("{}.{:03}Z", UtcSeconds(std::chrono::system_clock::to_time_t(seconds)), ms.count());
}

std::vector<std::string> CommandWords() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string ShellText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_=./:,+@%") == std::string::npos;
    std::string quoted;
    for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  return text;
}

}  // namespace tessera
