#ifndef TESSERA_TESTS_BENCH_HARNESS_SVG_READER_H_
#define TESSERA_TESTS_BENCH_HARNESS_SVG_READER_H_
// Reads facts from a picture without looking at it: its elements, whether they are well nested, and
// the places its texts take.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bench/pictures/svg_canvas.h"

namespace tessera::bench {

struct SvgElement {
  std::string tag, text;  // text: up to the next tag
  std::map<std::string, std::string> attributes;
  double Number(const std::string& key) const { return std::stod(attributes.at(key)); }
  std::string Class() const {
    const auto found = attributes.find("class");
    return found == attributes.end() ? "" : found->second;
  }
};

// Fails the test where tags are not closed in the order they were opened.
inline std::vector<SvgElement> ReadSvg(const std::string& svg) {
  std::vector<SvgElement> elements;
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at)) {
    const size_t end = svg.find('>', at);
    std::string inside = svg.substr(at + 1, end - at - 1);
    at = end;
    if (inside[0] == '/') {
      EXPECT_FALSE(open.empty());
      EXPECT_EQ(inside.substr(1), open.back());
      open.pop_back();
      continue;
    }
    SvgElement element;
    element.tag = inside.substr(0, inside.find_first_of(" /"));
    if (inside.back() != '/') open.push_back(element.tag);
    for (size_t i = inside.find("=\""); i != std::string::npos; i = inside.find("=\"", i)) {
      const size_t name = inside.rfind(' ', i) + 1, close = inside.find('"', i + 2);
      element.attributes[inside.substr(name, i - name)] = inside.substr(i + 2, close - i - 2);
      i = close;
    }
    element.text = svg.substr(end + 1, svg.find('<', end) - end - 1);
    elements.push_back(std::move(element));
  }
  EXPECT_TRUE(open.empty());
  return elements;
}

struct TextBox {
  double left, right, top, bottom;
  std::string text;
};

inline std::vector<TextBox> TextBoxes(const std::vector<SvgElement>& elements) {
  std::vector<TextBox> boxes;
  for (const SvgElement& e : elements) {
    if (e.tag != "text") continue;
    const std::string css = e.Class(), anchor = e.attributes.at("text-anchor");
    const double size = css == "title" ? 17 : css == "label" ? 12 : 11;
    const double width = TextWidth(e.text, size);
    const double left = e.Number("x") - (anchor == "end"      ? width
                                         : anchor == "middle" ? width / 2
                                                              : 0);
    boxes.push_back(
        {left, left + width, e.Number("y") - 0.8 * size, e.Number("y") + 0.2 * size, e.text});
  }
  return boxes;
}

// Every text lies within the picture, and none on another.
inline void ExpectReadable(const std::string& svg) {
  const std::vector<SvgElement> elements = ReadSvg(svg);
  ASSERT_EQ(elements[0].tag, "svg");
  const double width = elements[0].Number("width"), height = elements[0].Number("height");
  const std::vector<TextBox> boxes = TextBoxes(elements);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const TextBox& a = boxes[i];
    EXPECT_TRUE(a.left >= 0 && a.right <= width && a.top >= 0 && a.bottom <= height)
        << a.text << " from " << a.left << " to " << a.right << " of " << width;
    for (size_t j = 0; j < i; ++j) {
      const TextBox& b = boxes[j];
      EXPECT_FALSE(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
          << a.text << " lies on " << b.text;
    }
  }
}

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_HARNESS_SVG_READER_H_
