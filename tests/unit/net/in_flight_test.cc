#include "net/in_flight.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "net_calls.h"

namespace ers::net {
namespace {

using test::Call;

void Batch(InFlight& in_flight, const std::vector<Request*>& requests) {
  RequestQueue queue;
  for (Request* request : requests) queue.Push(*request);
  in_flight.BeginBatch();
  while (!queue.empty()) REQUIRE(in_flight.AppendFrom(queue));
  in_flight.EndBatch();
}

// At most `limit` bytes of what is left of the batch.
std::string Write(InFlight& in_flight, std::size_t limit = 1 << 20) {
  std::string text;
  for (int i = 0; i < in_flight.piece_count(); ++i) {
    const iovec& piece = in_flight.pieces()[i];
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  text.resize(std::min(text.size(), limit));
  in_flight.Advance(text.size());
  return text;
}

std::vector<Request*> Answered(InFlight& in_flight, std::string_view bytes) {
  std::vector<Request*> answered;
  while (!bytes.empty()) {
    REQUIRE(in_flight.Take(&bytes));
    while (Request* request = in_flight.PopAnswered()) {
      answered.push_back(request);
    }
  }
  return answered;
}

TEST_CASE("requests in flight are answered in their order") {
  InFlight in_flight;
  Call first(Verb::kDelete, "a"), second(Verb::kDelete, "b");
  Batch(in_flight, {&first, &second});
  CHECK(Write(in_flight) == "md a\r\nmd b\r\n");
  CHECK(Answered(in_flight, "HD\r\nNF\r\n") ==
        std::vector<Request*>{&first, &second});
  CHECK(first.outcome == Outcome::kOk);
  CHECK(second.outcome == Outcome::kMiss);
}

TEST_CASE("a reply to what was not sent is of a stranger") {
  InFlight in_flight;
  Call first(Verb::kDelete, "a"), second(Verb::kDelete, "b");
  Batch(in_flight, {&first, &second});
  Write(in_flight, 6);  // the first alone
  std::string_view bytes = "HD\r\nHD\r\n";
  REQUIRE(in_flight.Take(&bytes));
  CHECK(in_flight.PopAnswered() == &first);
  CHECK_FALSE(in_flight.Take(&bytes));
  CHECK_FALSE(in_flight.error().empty());
}

TEST_CASE("a request that is refused early ends when it is written") {
  InFlight in_flight;
  std::string value(1000, 'v');
  const iovec piece{value.data(), value.size()};
  Call set(Verb::kSet, "a");
  set.body = {&piece, 1};
  Batch(in_flight, {&set});
  Write(in_flight, 100);
  std::string_view bytes = "SERVER_ERROR object too large for cache\r\n";
  REQUIRE(in_flight.Take(&bytes));
  CHECK(in_flight.PopAnswered() == nullptr);
  Write(in_flight);
  CHECK(in_flight.PopAnswered() == &set);
  CHECK(set.outcome == Outcome::kTooLarge);
}

TEST_CASE("a sentinel's reply ends the quiet requests before it") {
  InFlight in_flight;
  const int run = 0, other = 0;
  Call first(Verb::kDelete, "a"), second(Verb::kDelete, "b");
  Call third(Verb::kDelete, "c");
  first.quiet_run = second.quiet_run = &run;
  third.quiet_run = &other;
  Batch(in_flight, {&first, &second, &third});
  CHECK(Write(in_flight) == "md a q\r\nmd b q\r\nmn\r\nmd c q\r\nmn\r\n");
  CHECK(Answered(in_flight, "MN\r\n") ==
        std::vector<Request*>{&first, &second});
  // A refusal is of the oldest without an answer.
  CHECK(Answered(in_flight, "NF\r\n") == std::vector<Request*>{&third});
  CHECK(third.outcome == Outcome::kMiss);
  CHECK(Answered(in_flight, "MN\r\n").empty());
  CHECK(in_flight.front() == nullptr);
}

TEST_CASE("a lost connection: what left, what did not, what was answered") {
  InFlight in_flight;
  Call first(Verb::kDelete, "a"), second(Verb::kDelete, "b");
  Call third(Verb::kDelete, "c");
  Batch(in_flight, {&first, &second, &third});
  Write(in_flight, 7);
  Answered(in_flight, "HD\r\n");
  CHECK(in_flight.PopLost() == &second);
  CHECK(second.outcome == Outcome::kLost);
  CHECK(in_flight.PopLost() == &third);
  CHECK(third.outcome == Outcome::kNotSent);
  CHECK(in_flight.PopLost() == nullptr);
  in_flight.Clear();
  CHECK(in_flight.batch_written());

  std::string value(1000, 'v');
  const iovec piece{value.data(), value.size()};
  Call set(Verb::kSet, "a");
  set.body = {&piece, 1};
  Batch(in_flight, {&set});
  Write(in_flight, 100);
  std::string_view bytes = "SERVER_ERROR object too large for cache\r\n";
  REQUIRE(in_flight.Take(&bytes));
  CHECK(in_flight.PopLost() == &set);
  CHECK(set.outcome == Outcome::kTooLarge);
}

}  // namespace
}  // namespace ers::net
