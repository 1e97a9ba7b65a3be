#include "tracing/trace_exporter.h"

#include <event2/event.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "config/collector_url.h"
#include "metrics/event_log.h"
#include "shared/event_owned.h"
#include "shared/listener.h"
#include "shared/plain_text.h"
#include "tracing/collector_link.h"
#include "tracing/otlp.h"

namespace ers::proxy {
namespace {

using Millis = std::chrono::milliseconds;

// No collector makes this one wait for longer.
constexpr std::chrono::seconds kMaxRetryAfter{30};
constexpr Millis kAtOnce{0};

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Ids are never those of another process.
std::mt19937_64 NewRandom() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(),
                     device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

// By the specification of OTLP/HTTP; all other refusals are final.
bool MayBeSentAgain(int code) {
  return code == 429 || code == 502 || code == 503 || code == 504;
}

void Say(LogLevel level, const std::string& text) {
  EventLog::OfProcess().Add(EventKind::kDaemon, level, text);
}

}  // namespace

// The thread's, but for what is guarded or atomic.
class TraceExporter::Loop {
 public:
  Loop(CollectorUrl url, const ExportPace& pace)
      : pace_(pace),
        url_(url.text()),
        source_{ERS_VERSION, HostName(), getpid()},
        link_(base_.get(), std::move(url), "ersproxy/" ERS_VERSION,
              pace.timeout) {}

  bool Start();
  void Stop();
  void Offer(RequestTrace trace);
  [[nodiscard]] TraceCounts counts() const;

 private:
  using OwnedEvent = EventOwned<event, event_free>;

  template <void (Loop::*call)()>
  OwnedEvent NewEvent(int descriptor, short what) {
    return OwnedEvent(event_new(
        base_.get(), descriptor, what,
        [](evutil_socket_t, short, void* self) {
          (static_cast<Loop*>(self)->*call)();
        },
        this));
  }
  static void Arm(const OwnedEvent& timer, Millis time) {
    const timeval after = TimevalOf(time);
    event_add(timer.get(), &after);
  }

  void OnWake();
  void OnDelay();
  void OnEnd() {
    link_.Cancel();
    event_base_loopexit(base_.get(), nullptr);  // after this turn
  }
  void SendNext();
  void SendBatch();
  void OnAnswer(const CollectorLink::Answer& answer);
  bool SendsAgain(const CollectorLink::Answer& answer);
  void EndBatch();
  void Taken(std::uint64_t rejected);
  void NotTaken(TraceDrop why, std::string_view text);
  void Drop(TraceDrop why, std::uint64_t spans) {
    dropped_[static_cast<std::size_t>(why)].fetch_add(
        spans, std::memory_order_relaxed);
  }
  std::vector<RequestTrace> TakeBatch();
  void WatchQueue();

  const ExportPace pace_;
  const std::string url_;
  const TraceSource source_;
  std::mt19937_64 random_ = NewRandom();
  Socket wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  // Those below are gone before their base.
  EventOwned<event_base, event_base_free> base_{event_base_new()};
  OwnedEvent wake_event_;
  OwnedEvent delay_timer_;
  OwnedEvent again_timer_;
  OwnedEvent end_timer_;
  CollectorLink link_;

  // The batch that is under way; 0 spans: none is.
  std::string body_;
  std::uint64_t spans_ = 0;
  int tries_ = 0;
  bool in_flight_ = false;
  bool ending_ = false;
  bool takes_ = true;       // the collector, as far as the log has it
  std::uint64_t lost_ = 0;  // spans, while it does not
  // Those that the queue had no room for, as the log has them.
  std::uint64_t overflow_ = 0;
  std::optional<std::chrono::steady_clock::time_point> overflow_said_;

  mutable Mutex mutex_;
  std::deque<RequestTrace> queue_ ERS_GUARDED_BY(mutex_);
  bool stopped_ ERS_GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> sent_{0};
  std::array<std::atomic<std::uint64_t>, std::size(kTraceDrops)> dropped_{};
  std::thread thread_;
};

bool TraceExporter::Loop::Start() {
  if (wake_.get() < 0 || !base_) return false;
  wake_event_ = NewEvent<&Loop::OnWake>(wake_.get(), EV_READ | EV_PERSIST);
  delay_timer_ = NewEvent<&Loop::OnDelay>(-1, EV_TIMEOUT);
  again_timer_ = NewEvent<&Loop::SendBatch>(-1, EV_TIMEOUT);
  end_timer_ = NewEvent<&Loop::OnEnd>(-1, EV_TIMEOUT);
  if (!wake_event_ || !delay_timer_ || !again_timer_ || !end_timer_ ||
      !link_.ready() || event_add(wake_event_.get(), nullptr) != 0) {
    return false;
  }
  Arm(delay_timer_, pace_.delay);
  thread_ = std::thread([this] { event_base_dispatch(base_.get()); });
  return true;
}

// --- Any thread --------------------------------------------------------------

void TraceExporter::Loop::Offer(RequestTrace trace) {
  bool full = false;
  {
    const MutexLock lock(mutex_);
    if (stopped_ || queue_.size() >= pace_.most_queued) {
      return Drop(TraceDrop::kQueueFull, trace.spans());
    }
    queue_.push_back(std::move(trace));
    full = queue_.size() == pace_.most_in_batch;
  }
  // An eventfd takes one always.
  if (full) (void)!eventfd_write(wake_.get(), 1);
}

TraceCounts TraceExporter::Loop::counts() const {
  TraceCounts counts;
  counts.sent = sent_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    counts.dropped[i] = dropped_[i].load(std::memory_order_relaxed);
  }
  return counts;
}

void TraceExporter::Loop::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  (void)!eventfd_write(wake_.get(), 1);
  thread_.join();
  std::uint64_t left = spans_;
  {
    const MutexLock lock(mutex_);
    for (const RequestTrace& trace : queue_) left += trace.spans();
    queue_.clear();
  }
  if (left == 0) return;
  Say(LogLevel::kWarning,
      fmt::format("{} of traces lost: the collector at {} did not take them "
                  "before the end",
                  CountText(left, "span"), url_));
}

// --- The loop ----------------------------------------------------------------

void TraceExporter::Loop::OnWake() {
  eventfd_t count = 0;
  (void)!eventfd_read(wake_.get(), &count);
  {
    const MutexLock lock(mutex_);
    if (stopped_ && !std::exchange(ending_, true)) {
      Arm(end_timer_, pace_.most_at_end);
    }
  }
  SendNext();
}

void TraceExporter::Loop::OnDelay() {
  Arm(delay_timer_, pace_.delay);
  WatchQueue();
  SendNext();
}

// Where all is dropped for another reason, the log has that.
void TraceExporter::Loop::WatchQueue() {
  constexpr auto kWhy = static_cast<std::size_t>(TraceDrop::kQueueFull);
  const std::uint64_t all = dropped_[kWhy].load(std::memory_order_relaxed);
  const auto now = std::chrono::steady_clock::now();
  if (all == overflow_ ||
      (overflow_said_ && now - *overflow_said_ < pace_.say_every)) {
    return;
  }
  overflow_said_ = now;
  Say(LogLevel::kWarning,
      fmt::format("spans of traces are dropped, requests go on ({} since the "
                  "last such line): more are sampled than the collector at {} "
                  "takes: lower trace_sample",
                  all - std::exchange(overflow_, all), url_));
}

std::vector<RequestTrace> TraceExporter::Loop::TakeBatch() {
  const MutexLock lock(mutex_);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                        queue_.size(), pace_.most_in_batch));
  std::vector<RequestTrace> batch(std::make_move_iterator(queue_.begin()),
                                  std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void TraceExporter::Loop::SendNext() {
  if (spans_ == 0) {
    const std::vector<RequestTrace> batch = TakeBatch();
    if (batch.empty()) {
      if (ending_) OnEnd();
      return;
    }
    for (const RequestTrace& trace : batch) spans_ += trace.spans();
    body_ = EncodeTraces(source_, batch, [this] { return random_(); });
    tries_ = 0;
    SendBatch();
  } else if (ending_ && !in_flight_) {
    SendBatch();  // it waits to be sent again, and there is no time
  }
}

void TraceExporter::Loop::SendBatch() {
  event_del(again_timer_.get());
  in_flight_ = true;
  ++tries_;
  link_.Post(body_, [this](const CollectorLink::Answer& answer) {
    in_flight_ = false;
    OnAnswer(answer);
  });
}

void TraceExporter::Loop::OnAnswer(const CollectorLink::Answer& answer) {
  if (answer.code >= 200 && answer.code < 300) {
    Taken(RejectedSpans(answer.body));
  } else if (answer.code == 0) {
    NotTaken(TraceDrop::kUnreachable, answer.why);
  } else if (SendsAgain(answer)) {
    return;
  } else {
    NotTaken(TraceDrop::kRefused, fmt::format("HTTP status {}", answer.code));
  }
  EndBatch();
}

bool TraceExporter::Loop::SendsAgain(const CollectorLink::Answer& answer) {
  if (!MayBeSentAgain(answer.code) || ending_ || tries_ >= pace_.most_tries) {
    return false;
  }
  const Millis longest = pace_.back_off * (1 << (tries_ - 1));
  // Not all processes of a fleet at the same time.
  std::uniform_int_distribution<Millis::rep> time(longest.count() / 2,
                                                  longest.count());
  Arm(again_timer_, answer.retry_after
                        ? std::min(*answer.retry_after, kMaxRetryAfter)
                        : Millis(time(random_)));
  return true;
}

void TraceExporter::Loop::EndBatch() {
  spans_ = 0;
  std::size_t queued = 0;
  {
    const MutexLock lock(mutex_);
    queued = queue_.size();
  }
  // Not from inside the link, which has just called.
  if (ending_ || queued >= pace_.most_in_batch) Arm(delay_timer_, kAtOnce);
}

void TraceExporter::Loop::Taken(std::uint64_t rejected) {
  rejected = std::min(rejected, spans_);
  sent_.fetch_add(spans_ - rejected, std::memory_order_relaxed);
  Drop(TraceDrop::kRefused, rejected);
  if (std::exchange(takes_, true)) return;
  Say(LogLevel::kInfo,
      fmt::format("the collector at {} takes traces again: {} dropped "
                  "meanwhile",
                  url_, CountText(std::exchange(lost_, 0), "span")));
}

// Said once, until it takes some again.
void TraceExporter::Loop::NotTaken(TraceDrop why, std::string_view text) {
  Drop(why, spans_);
  lost_ += spans_;
  if (!std::exchange(takes_, false)) return;
  Say(LogLevel::kWarning,
      fmt::format("traces are dropped, requests go on: the collector at {} "
                  "(trace_export) does not take them: {}",
                  url_, text));
}

// --- TraceExporter -----------------------------------------------------------

TraceExporter::TraceExporter(std::unique_ptr<Loop> loop)
    : loop_(std::move(loop)) {}

TraceExporter::~TraceExporter() { Stop(); }

Result<std::unique_ptr<TraceExporter>> TraceExporter::Open(
    const std::string& url, const ExportPace& pace) {
  Result<CollectorUrl> parsed = ParseCollectorUrl(url);
  if (!parsed) return Fail(parsed.error());
  auto loop = std::make_unique<Loop>(std::move(*parsed), pace);
  if (!loop->Start()) {
    return Fail(StatusCode::kNoMemory,
                "trace_export: no event loop can be made");
  }
  return std::unique_ptr<TraceExporter>(new TraceExporter(std::move(loop)));
}

void TraceExporter::Offer(RequestTrace trace) {
  loop_->Offer(std::move(trace));
}

TraceCounts TraceExporter::counts() const { return loop_->counts(); }

void TraceExporter::Stop() { loop_->Stop(); }

}  // namespace ers::proxy
