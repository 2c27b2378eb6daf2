// Predicted against measured times as a picture: SVG 1.1, written by hand.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calibration.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

constexpr int columns = 3;
constexpr double side = 300, left = 70, above = 60, panel = side + left + 30, height = side + above + 60;

struct Decades {
  int first, last;  // powers of ten of seconds
  double place(Seconds seconds) const { return (std::log10(seconds) - first) / (last - first) * side; }
};

std::string text_of(const char* form, double a, double b, double c = 0, double d = 0) {
  char text[256];
  std::snprintf(text, sizeof text, form, a, b, c, d);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

std::string words(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return text_of("<text x=\"%.1f\" y=\"%.1f\"", x, y) + " text-anchor=\"" + anchor + "\"" + more + ">" + escaped(text) +
         "</text>\n";
}

Decades decades_of(const CalibratedModel& one) {
  double least = INFINITY, most = 0;
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    least = std::min({least, one.samples[i].seconds, one.predicted[i]});
    most = std::max({most, one.samples[i].seconds, one.predicted[i]});
  }
  const int first = static_cast<int>(std::floor(std::log10(least)));
  return {first, std::max(first + 1, static_cast<int>(std::ceil(std::log10(most))))};
}

// Frame, diagonal, a line and a label a decade.
std::string axes(const Decades& decades) {
  std::string svg = text_of("<rect width=\"%.0f\" height=\"%.0f\" fill=\"none\" stroke=\"black\"/>\n", side, side);
  svg += text_of("<line x1=\"0\" y1=\"%.0f\" x2=\"%.0f\" y2=\"0\" stroke=\"gray\"/>\n", side, side);
  for (int power = decades.first; power <= decades.last; ++power) {
    const double at = decades.place(std::pow(10.0, power));
    const std::string label = with_unit(std::pow(10.0, power) * 1.0000001, "s");  // log10 rounds: not 1e+03 us
    svg += text_of("<line x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#dddddd\"/>\n", at, at, side);
    svg += text_of("<line x1=\"0\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", side - at, side,
                   side - at);
    svg += words(at, side + 16, "middle", label) + words(-6, side - at + 4, "end", label);
  }
  return svg + words(side / 2, side + 36, "middle", "measured") +
         words(-side / 2, -54, "middle", "predicted", " transform=\"rotate(-90)\"");
}

std::string points(const CalibratedModel& one, const Decades& decades) {
  std::string svg;
  for (std::size_t i = 0; i < one.samples.size(); ++i)
    svg += std::string("<circle class=\"") + (one.held_out[i] ? "held-out" : "fitted") +
           text_of("\" cx=\"%.2f\" cy=\"%.2f\" r=\"2.5\"/>\n", decades.place(one.samples[i].seconds),
                   side - decades.place(one.predicted[i]));
  return svg;
}

std::string panel_of(const CalibratedModel& one, std::size_t index) {
  const Decades decades = decades_of(one);
  std::string svg = text_of("<g transform=\"translate(%.0f %.0f)\">\n", left + panel * double(index % columns),
                            above + height * double(index / columns));
  svg += words(0, -26, "start", one.key.unit + " " + one.key.implementation + " " + to_string(one.key.type),
               " font-weight=\"bold\"");
  svg += words(0, -10, "start",
               "held-out blocks (red): mean error " + percent(one.errors.mean) + ", 95 of 100 within " +
                   percent(one.errors.of_95_in_100));
  return svg + axes(decades) + points(one, decades) + "</g>\n";
}

}  // namespace

std::string error_plot(const Calibrated& models) {
  const double across = std::min<double>(columns, std::max<double>(1, double(models.size())));
  const double down = std::max(1.0, std::ceil(double(models.size()) / columns));
  std::string svg = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
                    text_of(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                        "font-family=\"sans-serif\" font-size=\"11\">\n",
                        panel * across, height * down) +
                    "<style>.fitted{fill:none;stroke:#3366aa}.held-out{fill:#cc2222}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (std::size_t i = 0; i < models.size(); ++i) svg += panel_of(models[i], i);
  return svg + "</svg>";
}

}  // namespace poas::tool
