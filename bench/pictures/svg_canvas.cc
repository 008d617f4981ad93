#include "bench/pictures/svg_canvas.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::bench {
namespace {

using internal::MarkupText;

constexpr const char* kLightColors[kSeriesColors] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#d55e00", "#8c6d31", "#7f7f7f"};
constexpr const char* kDarkColors[kSeriesColors] = {"#4aa8e0", "#f0b83a", "#2fc79a", "#de9cc0",
                                                    "#8fd0f5", "#f0813a", "#c2a05c", "#a8a8a8"};

constexpr char kStyle[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;"
    "font-size:12px}\n"
    ".title{font-size:17px;font-weight:600}.note,.value{font-size:11px}\n"
    ".limit{stroke-dasharray:6 4;stroke-width:1.5}path{fill:none;stroke-width:2}"
    ".value{paint-order:stroke;stroke-width:3;stroke-linejoin:round}"
    ".dashed{stroke-dasharray:5 4;stroke-width:1.2}\n";

struct PageColors {
  const char *page, *border, *text, *faint, *grid, *axis, *limit;
  const char* const* series;
};

constexpr PageColors kLight = {"#ffffff", "#d0d7de", "#1f2328", "#59636e",
                               "#e4e8ec", "#8c959f", "#cf222e", kLightColors};
constexpr PageColors kDark = {"#0d1117", "#30363d", "#e6edf3", "#9aa4af",
                              "#262c34", "#6e7681", "#ff7b72", kDarkColors};

std::string Colors(const PageColors& c) {
  std::string css = Format(
      ".page{{fill:{};stroke:{}}}text{{fill:{}}}.note,.value{{fill:{}}}"
      ".value{{stroke:{}}}.grid{{stroke:{}}}.axis{{stroke:{}}}.limit{{stroke:{}}}"
      ".limittext{{fill:{}}}\n",
      c.page, c.border, c.text, c.faint, c.page, c.grid, c.axis, c.limit, c.limit);
  for (int i = 0; i < kSeriesColors; ++i)
    css += Format(".s{}{{fill:{}}}.l{}{{stroke:{}}}", i, c.series[i], i, c.series[i]);
  return css + "\n";
}

// Where characters of UTF-8 begin, and the end.
std::vector<size_t> CharacterStarts(const std::string& text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  starts.push_back(text.size());
  return starts;
}

constexpr double kLetter = 0.62;  // of the font's size: DejaVu Sans, the widest that is common

}  // namespace

void SvgCanvas::Rect(double x, double y, double width, double height, const std::string& css) {
  body_ +=
      Format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>\n",
             x, y, width, height, css);
}

void SvgCanvas::Line(double x1, double y1, double x2, double y2, const std::string& css) {
  body_ += Format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n",
                  x1, y1, x2, y2, css);
}

void SvgCanvas::Path(const std::vector<std::pair<double, double>>& points, const std::string& css) {
  std::string d;
  for (const auto& [x, y] : points) d += Format("{}{:.1f} {:.1f}", d.empty() ? "M" : " L", x, y);
  body_ += Format("<path d=\"{}\" class=\"{}\"/>\n", d, css);
}

void SvgCanvas::Circle(double x, double y, double radius, const std::string& css) {
  body_ += Format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"/>\n", x, y, radius,
                  css);
}

void SvgCanvas::Text(double x, double y, const std::string& text, const std::string& css,
                     Anchor anchor) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  body_ += Format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x,
                  y, kAnchors[static_cast<int>(anchor)], css, MarkupText(text));
}

std::string SvgCanvas::Finish(double height, const std::string& title) const {
  return Format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
             "viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n<title>{}</title>\n",
             width_, height, width_, height, MarkupText(title)) +
         Format("<style>\n{}{}@media (prefers-color-scheme: dark){{\n{}}}</style>\n", kStyle,
                Colors(kLight), Colors(kDark)) +
         Format(
             "<rect x=\"0.5\" y=\"0.5\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" "
             "class=\"page\"/>\n",
             width_ - 1, height - 1) +
         body_ + "</svg>\n";
}

double TextWidth(const std::string& text, double font_size) {
  return static_cast<double>(CharacterStarts(text).size() - 1) * kLetter * font_size;
}

std::string FittedText(const std::string& text, double width, double font_size) {
  const std::vector<size_t> starts = CharacterStarts(text);
  const size_t letters = starts.size() - 1;
  const auto room = static_cast<size_t>(std::max(3.0, width / (kLetter * font_size)));
  if (letters <= room) return text;
  const size_t head = room / 2, tail = room - head - 1;
  return text.substr(0, starts[head]) + "…" + text.substr(starts[letters - tail]);
}

}  // namespace tessera::bench
