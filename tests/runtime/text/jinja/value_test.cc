#include "runtime/text/jinja/value.h"

#include <gtest/gtest.h>

namespace hone::jinja {
namespace {

TEST(JinjaValue, DictKeepsOrderAndFindsAnySize) {
  Dict dict;
  for (int i = 0; i < 100; ++i) dict.set("key" + std::to_string(i * 7 % 100), Value(i));
  ASSERT_EQ(dict.entries().size(), 100U);
  EXPECT_EQ(dict.entries()[1].first.text()->bytes, "key7");
  for (int i = 0; i < 100; ++i) {
    const Value* found = dict.find("key" + std::to_string(i * 7 % 100));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->integer(), i);
  }
  EXPECT_TRUE(dict.erase(Value("key7")));
  EXPECT_FALSE(dict.erase(Value("key7")));
  EXPECT_EQ(dict.find("key7"), nullptr);
  EXPECT_EQ(dict.find("key14")->integer(), 2);
  dict.set("key14", Value(-1));
  EXPECT_EQ(dict.entries()[1].second.integer(), -1);
}

TEST(JinjaValue, NumbersOfOneValueAreOneKey) {
  Dict dict;
  dict.set(Value(1), Value("int"));
  dict.set(Value(1.0), Value("float"));
  dict.set(Value(true), Value("bool"));
  EXPECT_EQ(dict.entries().size(), 1U);
  EXPECT_EQ(dict.entries()[0].second.text()->bytes, "bool");
  EXPECT_THROW(dict.set(Value::list({}), Value(1)), Fault);
  EXPECT_THROW(static_cast<void>(dict.find(Value(std::make_shared<Dict>()))), Fault);
  dict.set(Value::tuple({Value(1), Value("a")}), Value(2));
  EXPECT_NE(dict.find(Value::tuple({Value(1.0), Value("a")})), nullptr);
}

TEST(JinjaValue, Order) {
  EXPECT_TRUE(less(Value(1), Value(1.5)));
  EXPECT_TRUE(less(Value("a"), Value("b")));
  EXPECT_TRUE(less(Value::list({Value(1), Value(2)}), Value::list({Value(1), Value(3)})));
  EXPECT_TRUE(less(Value::list({Value(1)}), Value::list({Value(1), Value(3)})));
  EXPECT_THROW(less(Value(1), Value("a")), Fault);
  EXPECT_THROW(less(Value(None{}), Value(1)), Fault);
  EXPECT_THROW(less(Value(), Value(1)), Fault);
}

TEST(JinjaValue, GeneratorsAreUsedUp) {
  const Value generator = Value::generator({Value(1), Value(2)});
  EXPECT_TRUE(truthy(generator));
  EXPECT_EQ(generator.list()->take().size(), 2U);
  EXPECT_EQ(generator.list()->take().size(), 0U);
  EXPECT_TRUE(truthy(generator));
  EXPECT_FALSE(truthy(Value::list({})));
}

TEST(JinjaValue, DeepValuesAreDestroyedWithoutRecursion) {
  Value value = Value::list({});
  for (int i = 0; i < 99'999; ++i) {
    if (i % 3 == 0) {
      value = Value::tuple({value, Value(i)});
    } else if (i % 3 == 1) {
      auto dict = std::make_shared<Dict>();
      dict->set("k", value);
      value = Value(std::move(dict));
    } else {
      auto loop = std::make_shared<Loop>();
      loop->items.push_back(value);
      value = Value(std::move(loop));
    }
  }
  const Value other = value;  // still held: nothing happens
  value = Value();
  EXPECT_NE(other.loop(), nullptr);
}

TEST(JinjaValue, ComparisonOfDeepValuesStops) {
  Value a = Value::list({});
  Value b = Value::list({});
  for (int i = 0; i < 1000; ++i) {
    a = Value::list({a});
    b = Value::list({b});
  }
  EXPECT_THROW(equal(a, b), Fault);
}

}  // namespace
}  // namespace hone::jinja
