// Python's string formatting: "%s" % value and "{}".format(value).
#pragma once

#include <string_view>

#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/value.h"

namespace hone::jinja {

// format % value: %s %r %d %i %u %f %F %e %E %g %G %x %X %o %c %% with flags, width and precision,
// %(key)s with a dict. Throws Fault.
Text percent_format(const Text& format, const Value& value);

// format.format(arguments): {} {0} {name} {0.attribute[key]}, !s !r, and the format specification
// [[fill]align][sign][#][0][width][,][.precision][type]. Throws Fault.
Text brace_format(Interpreter& interpreter, const Text& format, const Arguments& arguments);

// format(value, specification).
Text format_value(const Value& value, std::string_view specification);

}  // namespace hone::jinja
