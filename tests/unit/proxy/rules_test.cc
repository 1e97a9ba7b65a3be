// Which rule a value meets, and what it does to its expiry.
#include "config/rules.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

using namespace ers;
using namespace ers::proxy;
using namespace std::string_literals;

namespace {

KeyPattern Glob(std::string text) {
  Result<KeyPattern> pattern = KeyPattern::Glob(std::move(text));
  REQUIRE(pattern);
  return *pattern;
}

KeyPattern Regex(std::string text) {
  Result<KeyPattern> pattern = KeyPattern::Regex(std::move(text));
  REQUIRE(pattern);
  return *pattern;
}

}  // namespace

TEST_CASE("any key, and prefixes") {
  CHECK(KeyPattern().Matches("k"));
  const KeyPattern prefix = KeyPattern::Prefix("a.*");
  CHECK(prefix.Matches("a.*"));
  CHECK(prefix.Matches("a.*b"));
  CHECK_FALSE(prefix.Matches("abc"));
  CHECK_FALSE(prefix.Matches("a."));
}

TEST_CASE("a glob is of the whole key") {
  CHECK(Glob("a*c").Matches("ac"));
  CHECK(Glob("a*c").Matches("abbc"));
  CHECK_FALSE(Glob("a*c").Matches("abcd"));
  CHECK_FALSE(Glob("a*c").Matches("xabc"));
  CHECK(Glob("a?c").Matches("abc"));
  CHECK_FALSE(Glob("a?c").Matches("ac"));
  CHECK(Glob("a\\*c").Matches("a*c"));
  CHECK_FALSE(Glob("a\\*c").Matches("abc"));
  // What a regex would make something of.
  CHECK(Glob("[a].(b)+").Matches("[a].(b)+"));
  CHECK_FALSE(Glob("a.c").Matches("abc"));
}

TEST_CASE("a regex is of the whole key") {
  CHECK(Regex("u[0-9]+").Matches("u12"));
  CHECK_FALSE(Regex("u[0-9]+").Matches("u12x"));
  CHECK_FALSE(Regex("u[0-9]+").Matches("xu12"));
}

TEST_CASE("keys are bytes to patterns") {
  CHECK(Glob("a?b").Matches("a\0b"s));
  CHECK(
      Glob("a?b").Matches("a\xff"
                          "b"));
  CHECK(
      Glob("a*b").Matches("a\n\0\xc3"
                          "b"s));
  CHECK(Glob("\xc3\xa4*").Matches("\xc3\xa4x"));
  CHECK(Regex("a.b").Matches("a\nb"));
}

TEST_CASE("no key makes a pattern slow") {
  // Backtracking would try 2^120 ways.
  CHECK_FALSE(Regex("(a+)+b").Matches(std::string(250, 'a')));
  CHECK_FALSE(Glob("*a*a*a*a*a*a*a*a*b").Matches(std::string(250, 'a')));
}

TEST_CASE("the first rule whose conditions all hold is the one") {
  Rules rules;
  Rule rule;
  rule.condition.key = KeyPattern::Prefix("img/");
  rule.condition.min_value_bytes = 100;
  rule.condition.max_value_bytes = 200;
  rules.list.push_back(rule);
  rule = Rule();
  rule.condition.client_flags = 7;
  rules.list.push_back(rule);
  rule = Rule();
  rule.condition.key = KeyPattern::Prefix("img/");
  rules.list.push_back(rule);
  const Rule* first = rules.list.data();

  CHECK(rules.Match("img/1", 100, 7) == first);
  CHECK(rules.Match("img/1", 200, 0) == first);
  CHECK(rules.Match("img/1", 99, 7) == first + 1);
  CHECK(rules.Match("img/1", 201, 7) == first + 1);
  CHECK(rules.Match("other", 150, 7) == first + 1);
  CHECK(rules.Match("img/1", 99, 0) == first + 2);
  CHECK(rules.Match("other", 150, 0) == nullptr);
  CHECK(Rules().Match("k", 1, 0) == nullptr);
}

TEST_CASE("a rule shortens an expiry and never prolongs it") {
  Rule rule;
  CHECK(CappedExpiry(rule, 0, 1000) == 0);
  CHECK(CappedExpiry(rule, 5000, 1000) == 5000);
  rule.max_expiry_s = 60;
  CHECK(CappedExpiry(rule, 0, 1000) == 1060);
  CHECK(CappedExpiry(rule, 5000, 1000) == 1060);
  CHECK(CappedExpiry(rule, 1060, 1000) == 1060);
  CHECK(CappedExpiry(rule, 1030, 1000) == 1030);
  CHECK(CappedExpiry(rule, 1, 1000) == 1);  // expired at once stays so
}
