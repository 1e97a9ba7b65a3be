// Which requests of a worker are traced for the collector.
#include "server/request_sampler.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace ers::proxy;

namespace {

constexpr int kRequests = 100'000;

// Of so many requests.
int Due(RequestSampler& sampler, int requests = kRequests) {
  int due = 0;
  for (int i = 0; i < requests; ++i) {
    if (sampler.due()) ++due;
    sampler.Count();
  }
  return due;
}

}  // namespace

TEST_CASE("of all or of none of the requests each is sampled, or none") {
  RequestSampler all(1);
  CHECK(Due(all) == kRequests);
  RequestSampler none(0);
  CHECK(Due(none) == 0);
}

TEST_CASE("about the share of the requests is sampled") {
  for (const double share : {0.001, 0.01, 0.5, 0.999}) {
    CAPTURE(share);
    RequestSampler sampler(share);
    // Ten standard deviations of the binomial distribution.
    const double expected = kRequests * share;
    CHECK(Due(sampler) ==
          Approx(expected).margin(10 * std::sqrt(expected * (1 - share))));
  }
}

// Of some the distance to the next is no number, of others more than any.
TEST_CASE("a share that is next to none is none") {
  for (const double share : {5e-324, 1e-300, 1e-17, 1e-16, 1e-13}) {
    CAPTURE(share);
    RequestSampler sampler(share);
    CHECK(Due(sampler) == 0);
  }
}

TEST_CASE("a new share holds from the next request on") {
  RequestSampler sampler(0);
  CHECK(Due(sampler) == 0);
  sampler.SetShare(1);
  CHECK(Due(sampler) == kRequests);
  sampler.SetShare(0);
  CHECK(Due(sampler) == 0);
}
