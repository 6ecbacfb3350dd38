// Files that are part of every HTML report; the definitions are made by embed.cmake.
#pragma once

#include <string_view>

namespace hone {

std::string_view chart_js();    // chart.js, minified, with its licence line
std::string_view report_css();  // assets/report.css
std::string_view report_js();   // assets/report.js

}  // namespace hone
