#include "metrics/recent_requests.h"

#include <algorithm>
#include <chrono>

#include "metrics/commands.h"

namespace ers::proxy {
namespace {

std::optional<RequestKind> KindOf(Command command) {
  switch (command) {
    case Command::kGet:
    case Command::kGat:
    case Command::kMg:
      return RequestKind::kGet;
    case Command::kSet:
    case Command::kAdd:
    case Command::kReplace:
    case Command::kAppend:
    case Command::kPrepend:
    case Command::kCas:
    case Command::kIncr:
    case Command::kDecr:
    case Command::kMs:
    case Command::kMa:
    case Command::kErsUpdate:
      return RequestKind::kSet;
    case Command::kDelete:
    case Command::kTouch:
    case Command::kMd:
    case Command::kMe:
    case Command::kMn:
    case Command::kFlushAll:
    case Command::kStats:
    case Command::kVersion:
    case Command::kVerbosity:
    case Command::kNoop:
    case Command::kQuit:
    case Command::kErsTransition:
    case Command::kErsStat:
    case Command::kErsList:
    case Command::kInvalid:
    case Command::kEnd:
      break;
  }
  return std::nullopt;
}

void Add(const HistogramSum& more, HistogramSum& sum) {
  for (std::size_t i = 0; i < kBuckets; ++i) sum.buckets[i] += more.buckets[i];
  sum.nanoseconds += more.nanoseconds;
}

HistogramSum Difference(const HistogramSum& last, const HistogramSum& first) {
  HistogramSum sum;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    sum.buckets[i] = last.buckets[i] - first.buckets[i];
  }
  sum.nanoseconds = last.nanoseconds - first.nanoseconds;
  return sum;
}

}  // namespace

std::optional<net::Duration> Quantile(const HistogramSum& sum, double part) {
  const auto all = static_cast<double>(sum.count());
  if (all == 0) return std::nullopt;
  double below = part * all;
  for (std::size_t i = 0; i < kBucketBounds.size(); ++i) {
    const auto here = static_cast<double>(sum.buckets[i]);
    if (below > here) {
      below -= here;
      continue;
    }
    const double from = i == 0 ? 0 : static_cast<double>(kBucketBounds[i - 1]);
    const double to = static_cast<double>(kBucketBounds[i]);
    const double within = here == 0 ? 1 : below / here;
    return net::Duration(
        static_cast<net::Duration::rep>(from + within * (to - from)));
  }
  return net::Duration(kBucketBounds.back());  // or more
}

void RecentRequests::Take(const RequestSums& sums, net::TimePoint now) {
  Sample sample;
  sample.at = now;
  for (std::size_t i = 0; i < kCommands; ++i) {
    const std::optional<RequestKind> kind = KindOf(static_cast<Command>(i));
    if (kind) {
      Add(sums.durations[i], sample.durations[static_cast<std::size_t>(*kind)]);
    }
    for (const RequestResult error :
         {RequestResult::kServerError, RequestResult::kOutOfMemory}) {
      sample.errors += sums.results[i][static_cast<std::size_t>(error)];
    }
  }
  samples_.push_back(sample);
  if (samples_.size() > kSamples) samples_.pop_front();
}

RequestRates RecentRequests::Between(const Sample& first, const Sample& last) {
  RequestRates rates;
  rates.seconds = std::chrono::duration<double>(last.at - first.at).count();
  if (rates.seconds <= 0) return {};
  for (std::size_t i = 0; i < rates.of.size(); ++i) {
    const HistogramSum sum = Difference(last.durations[i], first.durations[i]);
    rates.of[i] = {static_cast<double>(sum.count()) / rates.seconds,
                   Quantile(sum, 0.5), Quantile(sum, 0.99)};
  }
  rates.errors_per_second =
      static_cast<double>(last.errors - first.errors) / rates.seconds;
  return rates;
}

RequestRates RecentRequests::Lately() const {
  if (samples_.empty()) return {};
  const std::size_t back = std::min(kLately, samples_.size() - 1);
  return Between(samples_[samples_.size() - 1 - back], samples_.back());
}

std::vector<RequestRates> RecentRequests::History() const {
  std::vector<RequestRates> history;
  for (std::size_t i = 1; i < samples_.size(); ++i) {
    history.push_back(Between(samples_[i - 1], samples_[i]));
  }
  return history;
}

}  // namespace ers::proxy
