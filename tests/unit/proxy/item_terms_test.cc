// The terms of items: what rules and time make of what a request says.
#include "engine/item_terms.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

using namespace ers;
using namespace ers::proxy;

namespace {

struct Fixture {
  void Rule(proxy::Rule rule) {
    Rules rules;
    rules.list.push_back(std::move(rule));
    terms.SetRules(std::make_shared<const Rules>(std::move(rules)));
  }

  std::int64_t now = 1'000'000'000;
  ItemTerms terms{[this] { return now; }, Scheme(), 100};
  ClientRequest request;
};

}  // namespace

TEST_CASE("a time to live goes by the clock, and never below zero") {
  Fixture f;
  CHECK(f.terms.TtlOf(0) == -1);
  CHECK(f.terms.TtlOf(f.now + 5) == 5);
  f.now += 7;
  CHECK(f.terms.TtlOf(f.now - 2) == 0);
}

TEST_CASE("an exptime that is over ends its item at once") {
  Fixture f;
  CHECK_FALSE(f.terms.EndsAtOnce(f.request));
  f.request.exptime = -1;
  CHECK(f.terms.EndsAtOnce(f.request));
  f.request.exptime = 10;
  CHECK(f.terms.ExpiryOf(f.request) == f.now + 10);
  CHECK_FALSE(f.terms.EndsAtOnce(f.request));
}

TEST_CASE("each time flag sees the expiry as those before it left it") {
  Fixture f;
  f.request.exptime = 20;
  f.request.vivify = 30;
  const std::int64_t before = f.now + 5;
  f.request.time_flags = "tT";
  auto times = f.terms.TimesOf(f.request, before, /*created=*/false, 1, 0);
  CHECK(times.reported == before);
  CHECK(times.left == f.now + 20);
  f.request.time_flags = "Tt";
  times = f.terms.TimesOf(f.request, before, /*created=*/false, 1, 0);
  CHECK(times.reported == f.now + 20);
  CHECK(times.judged == before);
  f.request.time_flags = "TR";
  times = f.terms.TimesOf(f.request, before, /*created=*/false, 1, 0);
  CHECK(times.judged == f.now + 20);
  f.request.time_flags = "N";
  times = f.terms.TimesOf(f.request, before, /*created=*/false, 1, 0);
  CHECK(times.left == before);
  times = f.terms.TimesOf(f.request, 0, /*created=*/true, 1, 0);
  CHECK(times.left == f.now + 30);
}

TEST_CASE("a rule caps every expiry of the values that it is for") {
  Fixture f;
  Rule rule;
  rule.condition.min_value_bytes = 10;
  rule.max_expiry_s = 60;
  rule.inline_below = 500;
  f.Rule(rule);
  CHECK(f.terms.inline_most() == 500);
  CHECK(f.terms.Capped(f.request, 9, 0, 0) == 0);
  CHECK(f.terms.Capped(f.request, 10, 0, 0) == f.now + 60);
  CHECK(f.terms.Capped(f.request, 10, 0, f.now + 5) == f.now + 5);

  PutOptions options;
  store::PutTerms terms;
  f.terms.Apply(f.request, 10, options, terms);
  CHECK(options.expiry == f.now + 60);
  CHECK(terms.inline_below == 500);

  store::Rewritten rewritten;
  rewritten.value = "ten bytes.";
  ObjectInfo info;
  info.expiry = f.now + 100;
  f.terms.Apply(f.request, info, rewritten);
  CHECK(rewritten.expiry == f.now + 60);
}

TEST_CASE("without its rule a length no longer comes with its manifest") {
  Fixture f;
  Rule rule;
  rule.inline_below = 500;
  f.Rule(rule);
  f.terms.SetRules(std::make_shared<const Rules>());
  CHECK(f.terms.inline_most() == 100);
}
