#include "net/silence_watch.h"

#include <algorithm>
#include <utility>

#include "net/patient_timer.h"

namespace ers::net {
namespace {

// Silence of so many times what so much of a server's replies take is odd.
constexpr double kNearlyAll = 0.999;
constexpr int kManyTimes = 10;

}  // namespace

SilenceWatch::SilenceWatch(Runtime& runtime, const Endpoint& endpoint,
                           const InFlight& in_flight, const Latency& latency,
                           Terms terms, Link link)
    : runtime_(runtime),
      endpoint_(endpoint),
      in_flight_(in_flight),
      latency_(latency),
      terms_(terms),
      link_(std::move(link)),
      timer_(runtime.NewTimer([this] { OnTick(); })) {}

void SilenceWatch::Start() {
  up_ = terms_.least > Duration() && terms_.least < terms_.most;
  heard_ = true;
}

void SilenceWatch::Stop() {
  up_ = ticking_ = false;
  timer_->Stop();
  probe_.reset();
}

// The timer is not moved when requests end: it checks again when it fires.
void SilenceWatch::Tick() {
  if (!up_) return;
  ticking_ = true;
  const Duration wait = terms_.least / kPartsOfTimeout;
  due_ = runtime_.Now() + wait;
  timer_->Start(wait);
}

void SilenceWatch::OnTick() {
  ticking_ = false;
  if (runtime_.Now() - due_ > terms_.least / kPartsOfTimeout) heard_ = true;
  const bool awaits = in_flight_.front() != nullptr;
  if (awaits) link_.read();
  NoteHeard();
  if (!awaits) return;
  Check();
  if (in_flight_.front() != nullptr) OnSent();
}

void SilenceWatch::NoteHeard() {
  if (std::exchange(heard_, false)) heard_until_ = runtime_.Now();
}

// Nothing says that the server has all that was sent, but one that takes it in
// pieces is heard of by that. Empty: it is not silent.
std::optional<TimePoint> SilenceWatch::Since() const {
  const Request* oldest = in_flight_.front();
  const bool expected =
      up_ && oldest != nullptr && oldest->timeout == Duration() && !heard_;
  if (!expected) return {};
  return std::max(heard_until_, oldest->left_at);
}

bool SilenceWatch::IsSilent() const {
  const std::optional<TimePoint> since = Since();
  return since && runtime_.Now() - *since >= terms_.least / 2;
}

// Where too little is known of its replies, no silence is odd.
Duration SilenceWatch::Limit() const {
  const std::optional<Duration> usual = latency_.All().Quantile(kNearlyAll);
  if (!usual) return terms_.most;
  return std::clamp(kManyTimes * *usual, terms_.least, terms_.most);
}

bool SilenceWatch::MaySuspect(TimePoint since) const {
  return Since() && link_.may_suspect(since) && up_;
}

void SilenceWatch::Check() {
  const std::optional<TimePoint> since = Since();
  if (!since || probe_ != nullptr) return;
  const Duration silent = runtime_.Now() - *since;
  if (silent < terms_.least || silent < Limit() || !MaySuspect(*since)) return;
  asked_at_ = runtime_.Now();
  probe_ = std::make_unique<SilenceProbe>(
      runtime_, endpoint_, Limit(),
      [this](bool answered) { OnProbeEnd(answered); });
}

// A server that answers there is asked again after another such silence, until
// a deadline is over.
void SilenceWatch::OnProbeEnd(bool answered) {
  probe_.reset();
  link_.read();
  heard_ = heard_ || answered;
  NoteHeard();
  if (heard_until_ < asked_at_ && MaySuspect(asked_at_)) link_.dead();
}

}  // namespace ers::net
