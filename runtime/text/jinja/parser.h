// Template text to its syntax tree, with Jinja2's grammar.
//
// Statements: if, for (else, filter, recursive), set (unpacking, namespace attributes, blocks),
// macro, call, filter, with, generation, break, continue, raw, comments. Templates that need others
// (extends, include, import, block) are refused.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/text/jinja/ast.h"

namespace hone::jinja {

// Throws SyntaxFault. Nesting is limited, so that no template can exhaust the stack.
std::shared_ptr<const Program> parse_template(std::string_view source);

}  // namespace hone::jinja
