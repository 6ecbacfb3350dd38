#include "runtime/text/jinja/expression_parser.h"

#include <algorithm>
#include <array>

#include "runtime/text/jinja/python_text.h"

namespace hone::jinja {
namespace {

constexpr int kMaxDepth = 200;   // of brackets and operands
constexpr int kMaxHeight = 400;  // of the tree: chains such as a + b + c grow it without brackets

struct CompareOp {
  std::string_view text;
  Op op;
};
constexpr auto kCompareOps = std::to_array<CompareOp>(
    {{"==", Op::kEqual},
     {"!=", Op::kNotEqual},
     {"<", Op::kLess},
     {"<=", Op::kLessEqual},
     {">", Op::kGreater},
     {">=", Op::kGreaterEqual}}
);

}  // namespace

// Counts nesting of the descent.
class ExpressionParser::Nested {
 public:
  explicit Nested(ExpressionParser& parser) : parser_(parser) {
    if (++parser_.depth_ > kMaxDepth) {
      parser_.tokens_.fail(fmt::format("expression nested deeper than {}", kMaxDepth));
    }
  }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --parser_.depth_; }

 private:
  ExpressionParser& parser_;
};

ExprPtr ExpressionParser::make(ExprKind kind, int line) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  return expr;
}

void ExpressionParser::adopt(Expr& parent, ExprPtr child) {
  if (child != nullptr) {
    parent.height = std::max(parent.height, child->height + 1);
    if (parent.height > kMaxHeight) {
      tokens_.fail(fmt::format("expression of more than {} chained operations", kMaxHeight));
    }
  }
  parent.children.push_back(std::move(child));
}

ExprPtr ExpressionParser::binary(Op op, ExprPtr left, ExprPtr right, int line) {
  ExprPtr node = make(ExprKind::kBinary, line);
  node->op = op;
  adopt(*node, std::move(left));
  adopt(*node, std::move(right));
  return node;
}

ExprPtr ExpressionParser::expression(bool conditional) {
  const Nested nested(*this);
  return conditional ? condition() : or_expression();
}

ExprPtr ExpressionParser::condition() {
  ExprPtr node = or_expression();
  while (tokens_.is_name("if")) {
    ExprPtr choice = make(ExprKind::kCondition, tokens_.next().line);
    ExprPtr test = or_expression();
    ExprPtr other;
    if (tokens_.accept_name("else")) {
      const Nested nested(*this);
      other = condition();
    }
    adopt(*choice, std::move(test));
    adopt(*choice, std::move(node));
    adopt(*choice, std::move(other));
    node = std::move(choice);
  }
  return node;
}

ExprPtr ExpressionParser::or_expression() {
  ExprPtr node = and_expression();
  while (tokens_.is_name("or")) {
    ExprPtr both = make(ExprKind::kOr, tokens_.next().line);
    adopt(*both, std::move(node));
    adopt(*both, and_expression());
    node = std::move(both);
  }
  return node;
}

ExprPtr ExpressionParser::and_expression() {
  ExprPtr node = not_expression();
  while (tokens_.is_name("and")) {
    ExprPtr both = make(ExprKind::kAnd, tokens_.next().line);
    adopt(*both, std::move(node));
    adopt(*both, not_expression());
    node = std::move(both);
  }
  return node;
}

ExprPtr ExpressionParser::not_expression() {
  if (!tokens_.is_name("not")) return compare();
  const Nested nested(*this);
  ExprPtr node = make(ExprKind::kNot, tokens_.next().line);
  adopt(*node, not_expression());
  return node;
}

ExprPtr ExpressionParser::compare() {
  ExprPtr first = sum();
  ExprPtr node;
  while (true) {
    Op op = Op::kIn;
    const auto found = std::ranges::find_if(kCompareOps, [&](const CompareOp& o) {
      return tokens_.is_op(o.text);
    });
    const int line = tokens_.now().line;
    if (found != kCompareOps.end()) {
      op = found->op;
      tokens_.next();
    } else if (tokens_.accept_name("in")) {
      op = Op::kIn;
    } else if (tokens_.is_name("not") && tokens_.ahead().kind == TokenKind::kName &&
               tokens_.ahead().text == "in") {
      tokens_.next();
      tokens_.next();
      op = Op::kNotIn;
    } else {
      break;
    }
    if (node == nullptr) {
      node = make(ExprKind::kCompare, line);
      adopt(*node, std::move(first));
    }
    node->compares.push_back(op);
    adopt(*node, sum());
  }
  return node == nullptr ? std::move(first) : std::move(node);
}

ExprPtr ExpressionParser::sum() {
  ExprPtr node = concat();
  while (tokens_.is_op("+") || tokens_.is_op("-")) {
    const Token& token = tokens_.next();
    const Op op = token.text == "+" ? Op::kAdd : Op::kSubtract;
    const int line = token.line;
    node = binary(op, std::move(node), concat(), line);
  }
  return node;
}

ExprPtr ExpressionParser::concat() {
  ExprPtr first = product();
  if (!tokens_.is_op("~")) return first;
  ExprPtr node = make(ExprKind::kConcat, tokens_.now().line);
  adopt(*node, std::move(first));
  while (tokens_.accept_op("~")) adopt(*node, product());
  return node;
}

ExprPtr ExpressionParser::product() {
  ExprPtr node = power();
  while (true) {
    const int line = tokens_.now().line;
    Op op = Op::kMultiply;
    if (tokens_.accept_op("*")) {
      op = Op::kMultiply;
    } else if (tokens_.accept_op("/")) {
      op = Op::kDivide;
    } else if (tokens_.accept_op("//")) {
      op = Op::kFloorDivide;
    } else if (tokens_.accept_op("%")) {
      op = Op::kModulo;
    } else {
      return node;
    }
    node = binary(op, std::move(node), power(), line);
  }
}

ExprPtr ExpressionParser::power() {
  ExprPtr node = unary();
  while (tokens_.is_op("**")) {
    const int line = tokens_.next().line;
    node = binary(Op::kPower, std::move(node), unary(), line);
  }
  return node;
}

ExprPtr ExpressionParser::unary(bool with_filter) {
  const Nested nested(*this);
  ExprPtr node;
  if (tokens_.is_op("-") || tokens_.is_op("+")) {
    const Token& token = tokens_.next();
    node = make(ExprKind::kUnary, token.line);
    node->op = token.text == "-" ? Op::kNegate : Op::kPlus;
    adopt(*node, unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filter ? filters_and_tests(std::move(node)) : std::move(node);
}

ExprPtr ExpressionParser::primary() {
  const Token& token = tokens_.now();
  const int line = token.line;
  switch (token.kind) {
    case TokenKind::kName: {
      const std::string name = tokens_.next().text;
      const bool truth = name == "true" || name == "True";
      if (truth || name == "false" || name == "False") {
        ExprPtr node = make(ExprKind::kConstant, line);
        node->constant = Value(truth);
        return node;
      }
      if (name == "none" || name == "None") {
        ExprPtr node = make(ExprKind::kConstant, line);
        node->constant = Value(None{});
        return node;
      }
      ExprPtr node = make(ExprKind::kName, line);
      node->symbol = symbols_.intern(name);
      needs.varargs |= name == "varargs";
      needs.kwargs |= name == "kwargs";
      needs.caller |= name == "caller";
      return node;
    }
    case TokenKind::kString: {
      std::string text = tokens_.next().text;
      while (tokens_.is(TokenKind::kString)) text += tokens_.next().text;
      ExprPtr node = make(ExprKind::kConstant, line);
      node->constant = Value(std::move(text));
      return node;
    }
    case TokenKind::kInteger: {
      const auto value = parse_int(token.text);
      if (!value) tokens_.fail(fmt::format("number {} is too large", token.text));
      tokens_.next();
      ExprPtr node = make(ExprKind::kConstant, line);
      node->constant = Value(*value);
      return node;
    }
    case TokenKind::kFloat: {
      const auto value = parse_float(token.text);
      if (!value) tokens_.fail(fmt::format("bad number {}", token.text));
      tokens_.next();
      ExprPtr node = make(ExprKind::kConstant, line);
      node->constant = Value(*value);
      return node;
    }
    default:
      break;
  }
  if (tokens_.is_op("(")) return parenthesized();
  if (tokens_.is_op("[")) return list();
  if (tokens_.is_op("{")) return dict();
  tokens_.fail(fmt::format("unexpected {}", tokens_.describe()));
}

ExprPtr ExpressionParser::parenthesized() {
  tokens_.expect_op("(");
  ExprPtr node = tuple_items(true, true);
  tokens_.expect_op(")");
  return node;
}

bool ExpressionParser::tuple_ends() const {
  return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) ||
         tokens_.is_op(")") || tokens_.is_name("recursive");
}

ExprPtr ExpressionParser::tuple(bool conditional) {
  return tuple_items(conditional, false);
}

ExprPtr ExpressionParser::tuple_items(bool conditional, bool explicit_parentheses) {
  const int line = tokens_.now().line;
  std::vector<ExprPtr> items;
  bool comma = false;
  while (true) {
    if (!items.empty()) {
      if (!tokens_.accept_op(",")) break;
      comma = true;
    }
    if (tuple_ends()) break;
    items.push_back(expression(conditional));
  }
  if (!comma) {
    if (!items.empty()) return std::move(items[0]);
    if (!explicit_parentheses) {
      tokens_.fail(fmt::format("expected an expression, got {}", tokens_.describe()));
    }
  }
  ExprPtr node = make(ExprKind::kTuple, line);
  for (ExprPtr& item : items) adopt(*node, std::move(item));
  return node;
}

ExprPtr ExpressionParser::list() {
  ExprPtr node = make(ExprKind::kList, tokens_.now().line);
  tokens_.expect_op("[");
  while (!tokens_.is_op("]")) {
    if (!node->children.empty()) {
      tokens_.expect_op(",");
      if (tokens_.is_op("]")) break;
    }
    adopt(*node, expression());
  }
  tokens_.expect_op("]");
  return node;
}

ExprPtr ExpressionParser::dict() {
  ExprPtr node = make(ExprKind::kDict, tokens_.now().line);
  tokens_.expect_op("{");
  while (!tokens_.is_op("}")) {
    if (!node->children.empty()) {
      tokens_.expect_op(",");
      if (tokens_.is_op("}")) break;
    }
    adopt(*node, expression());
    tokens_.expect_op(":");
    adopt(*node, expression());
  }
  tokens_.expect_op("}");
  return node;
}

ExprPtr ExpressionParser::postfix(ExprPtr node) {
  while (true) {
    if (tokens_.is_op(".") || tokens_.is_op("[")) {
      node = subscript(std::move(node));
    } else if (tokens_.is_op("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr node) {
  while (true) {
    if (tokens_.is_op("|")) {
      node = filters(std::move(node), false);
    } else if (tokens_.is_name("is")) {
      node = test(std::move(node));
    } else if (tokens_.is_op("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr node) {
  const int line = tokens_.now().line;
  if (tokens_.accept_op(".")) {
    if (tokens_.is(TokenKind::kInteger)) {
      ExprPtr item = make(ExprKind::kItem, line);
      adopt(*item, std::move(node));
      adopt(*item, primary());
      return item;
    }
    ExprPtr attribute = make(ExprKind::kAttribute, line);
    attribute->name = tokens_.expect_any_name();
    adopt(*attribute, std::move(node));
    return attribute;
  }
  tokens_.expect_op("[");
  const auto bound = [&]() -> ExprPtr {
    return tokens_.is_op(":") || tokens_.is_op("]") ? nullptr : expression();
  };
  ExprPtr start = bound();
  if (tokens_.is_op(":")) {
    ExprPtr slice = make(ExprKind::kSlice, line);
    adopt(*slice, std::move(node));
    adopt(*slice, std::move(start));
    for (int i = 0; i < 2; ++i) adopt(*slice, tokens_.accept_op(":") ? bound() : nullptr);
    tokens_.expect_op("]");
    return slice;
  }
  if (start == nullptr) tokens_.fail("expected a subscript, got ']'");
  if (tokens_.is_op(",")) {
    ExprPtr key = make(ExprKind::kTuple, line);
    adopt(*key, std::move(start));
    while (tokens_.accept_op(",")) {
      if (!tokens_.is_op("]")) adopt(*key, expression());
    }
    start = std::move(key);
  }
  tokens_.expect_op("]");
  ExprPtr item = make(ExprKind::kItem, line);
  adopt(*item, std::move(node));
  adopt(*item, std::move(start));
  return item;
}

std::vector<Argument> ExpressionParser::arguments() {
  std::vector<Argument> out;
  tokens_.expect_op("(");
  bool named = false;
  while (!tokens_.is_op(")")) {
    if (!out.empty()) {
      tokens_.expect_op(",");
      if (tokens_.is_op(")")) break;
    }
    Argument argument;
    if (tokens_.accept_op("**")) {
      argument.stars = 2;
    } else if (tokens_.accept_op("*")) {
      argument.stars = 1;
    } else if (tokens_.is(TokenKind::kName) && tokens_.ahead().kind == TokenKind::kOperator &&
               tokens_.ahead().text == "=") {
      argument.name = tokens_.next().text;
      tokens_.next();
    }
    named = named || !argument.name.empty() || argument.stars == 2;
    if (named && argument.name.empty() && argument.stars == 0) {
      tokens_.fail("positional argument after a named one");
    }
    argument.value = expression();
    out.push_back(std::move(argument));
  }
  tokens_.expect_op(")");
  return out;
}

void ExpressionParser::take_arguments(Expr& node) {
  node.arguments = arguments();
  for (const Argument& argument : node.arguments) {
    node.height = std::max(node.height, argument.value->height + 1);
  }
  if (node.height > kMaxHeight) tokens_.fail("expression nested too deep");
}

ExprPtr ExpressionParser::call(ExprPtr callee) {
  ExprPtr node = make(ExprKind::kCall, tokens_.now().line);
  adopt(*node, std::move(callee));
  take_arguments(*node);
  return node;
}

std::string ExpressionParser::dotted_name() {
  std::string name = tokens_.expect_any_name();
  while (tokens_.accept_op(".")) name += "." + tokens_.expect_any_name();
  return name;
}

ExprPtr ExpressionParser::filters(ExprPtr input, bool start_inline) {
  while (tokens_.is_op("|") || start_inline) {
    ExprPtr node = make(ExprKind::kFilter, tokens_.now().line);
    if (!start_inline) tokens_.next();
    node->name = dotted_name();
    adopt(*node, std::move(input));
    if (tokens_.is_op("(")) take_arguments(*node);
    input = std::move(node);
    start_inline = false;
  }
  return input;
}

ExprPtr ExpressionParser::test(ExprPtr input) {
  const int line = tokens_.next().line;
  const bool negated = tokens_.accept_name("not");
  ExprPtr node = make(ExprKind::kTest, line);
  node->name = dotted_name();
  adopt(*node, std::move(input));
  const TokenKind kind = tokens_.now().kind;
  if (tokens_.is_op("(")) {
    take_arguments(*node);
  } else if ((kind == TokenKind::kName || kind == TokenKind::kString ||
              kind == TokenKind::kInteger || kind == TokenKind::kFloat || tokens_.is_op("[") ||
              tokens_.is_op("{")) &&
             !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and")) {
    if (tokens_.is_name("is")) tokens_.fail("You cannot chain multiple tests with is");
    // The grammar takes any name here, "if" and "in" as well.
    const Nested nested(*this);
    Argument argument;
    argument.value = postfix(primary());
    node->arguments.push_back(std::move(argument));
  }
  if (!negated) return node;
  ExprPtr inverse = make(ExprKind::kNot, line);
  adopt(*inverse, std::move(node));
  return inverse;
}

Target ExpressionParser::target(bool with_namespace, bool with_tuple) {
  const Nested nested(*this);
  const auto one = [&]() {
    Target out;
    out.line = tokens_.now().line;
    if (tokens_.accept_op("(")) {
      out = target(false);
      tokens_.expect_op(")");
      return out;
    }
    const std::string name = tokens_.expect_any_name();
    if (name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
        name == "None") {
      tokens_.fail(fmt::format("can't assign to '{}'", name));
    }
    out.symbol = symbols_.intern(name);
    if (with_namespace && tokens_.accept_op(".")) out.attribute = tokens_.expect_any_name();
    return out;
  };
  Target first = one();
  if (!with_tuple || !tokens_.is_op(",")) return first;
  Target all;
  all.line = first.line;
  all.parts.push_back(std::move(first));
  while (tokens_.accept_op(",")) {
    if (!tokens_.is(TokenKind::kName) && !tokens_.is_op("(")) break;
    all.parts.push_back(one());
  }
  return all;
}

}  // namespace hone::jinja
