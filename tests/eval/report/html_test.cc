#include "eval/report/html.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "eval/report/asset.h"
#include "tests/eval/report/sample_evaluation.h"

namespace hone {
namespace {

// The document without chart.js, which speaks of tags itself.
std::string without_scripts(std::string html) {
  for (const std::string_view part : {chart_js(), report_js()}) {
    const size_t at = html.find(part);
    EXPECT_NE(at, std::string::npos);
    html.erase(at, part.size());
  }
  return html;
}

// Every element that must be closed is, in order. Returns what is wrong.
std::string unbalanced(const std::string& html) {
  const std::set<std::string> empty = {"meta", "br", "rect", "line", "circle", "path", "!doctype"};
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const bool closing = html.compare(at + 1, 1, "/") == 0;
    const size_t begin = at + (closing ? 2 : 1);
    const size_t end = html.find_first_of(" \t\n/>", begin);
    const std::string name = html.substr(begin, end - begin);
    if (empty.contains(name)) continue;
    if (!closing) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

int64_t count(const std::string& text, std::string_view what) {
  int64_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(ReportHtml, IsWellFormed) {
  EXPECT_EQ(unbalanced(without_scripts(report_html(sample_evaluation()))), "");
  EXPECT_NE(unbalanced("<p><b></p>"), "");
}

TEST(ReportHtml, NeedsNothingFromOutside) {
  const std::string html = without_scripts(report_html(sample_evaluation()));
  for (const char* reference : {"src=\"", "<link", "@import", "url(", "http://", "https://"})
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
}

TEST(ReportHtml, HostileTextStaysText) {
  const std::string html = without_scripts(report_html(sample_evaluation()));
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_NE(html.find("&lt;/script&gt;&lt;img src=x"), std::string::npos);
  EXPECT_EQ(count(html, "</script>"), 3);
}

TEST(ReportHtml, VerdictComesFirst) {
  const std::string html = report_html(sample_evaluation());
  const size_t verdict = html.find("tiny-nvfp4 is equivalent to tiny within 5 points</h1>");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(verdict, html.find("<section"));
  EXPECT_NE(html.find("arithmetic <b>hopper</b>"), std::string::npos);
  EXPECT_NE(html.find("<html lang=\"en\">"), std::string::npos);
}

TEST(ReportHtml, EveryMetricHasARowAndEveryFlipAnEntry) {
  const std::string html = report_html(sample_evaluation());
  EXPECT_EQ(count(html, "<svg class=\"forest\""), 2);
  EXPECT_EQ(count(html, "<details class=\"flip\">"), 2);
  EXPECT_NE(html.find("I think <mark>\xC3\xA4</mark>"), std::string::npos);
  EXPECT_EQ(count(html, "<canvas "), 3);
  EXPECT_EQ(count(html, "role=\"img\" aria-label="), 5);
}

TEST(ReportHtml, LightDarkAndPrint) {
  EXPECT_NE(report_css().find("prefers-color-scheme: dark"), std::string_view::npos);
  EXPECT_NE(report_css().find("@media print"), std::string_view::npos);
}

TEST(ReportHtml, InvalidComparison) {
  Evaluation evaluation = sample_evaluation();
  TaskResult broken;
  broken.key = "tools";
  broken.title = "Tool calls";
  broken.invalid = "the prompts differ, item 3";
  evaluation.tasks = {broken};
  judge(evaluation);
  const std::string html = without_scripts(report_html(evaluation));
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_NE(html.find("the prompts differ, item 3"), std::string::npos);
  EXPECT_EQ(html.find("<table class=\"metrics\">"), std::string::npos);
}

TEST(Asset, ChartJsIsWhole) {
  EXPECT_GT(chart_js().size(), 100000U);
  EXPECT_NE(chart_js().find("Chart"), std::string_view::npos);
  EXPECT_EQ(
      report_js(), read_text_file(std::string(HONE_SOURCE_DIR) + "/eval/report/assets/report.js")
  );
}

}  // namespace
}  // namespace hone
