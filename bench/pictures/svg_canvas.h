#ifndef TESSERA_BENCH_PICTURES_SVG_CANVAS_H_
#define TESSERA_BENCH_PICTURES_SVG_CANVAS_H_
// A drawing as one self-contained SVG file without scripts, to be shown in a README: it brings its
// own background, and colors for light and for dark pages.
//
// What is drawn has a class of the style sheet instead of colors: "s0" to "s7" fill with the color
// of a series (those of Okabe and Ito, told apart by people who see few colors), "l0" to "l7" draw
// lines of it; "grid", "axis", "limit" are lines; "title", "note", "label", "value" are texts.
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

inline constexpr int kSeriesColors = 8;

enum class Anchor { kStart, kMiddle, kEnd };

class SvgCanvas {
 public:
  explicit SvgCanvas(double width) : width_(width) {}
  double width() const { return width_; }

  void Rect(double x, double y, double width, double height, const std::string& css);
  void Line(double x1, double y1, double x2, double y2, const std::string& css);
  void Path(const std::vector<std::pair<double, double>>& points, const std::string& css);
  void Circle(double x, double y, double radius, const std::string& css);
  // y: the line that letters stand on.
  void Text(double x, double y, const std::string& text, const std::string& css,
            Anchor anchor = Anchor::kStart);

  // The file. title: what a reader who does not see the picture is told.
  std::string Finish(double height, const std::string& title) const;

 private:
  double width_;
  std::string body_;
};

// About as wide as the widest of the fonts that viewers put in.
double TextWidth(const std::string& text, double font_size);
// `text`, its middle replaced by "…" where it would be wider than `width`.
std::string FittedText(const std::string& text, double width, double font_size);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_SVG_CANVAS_H_
