#include "store/replicas/abandoned_read.h"

#include <utility>

namespace ers::store {
namespace {

// It owns itself: replies come in order, so it is in its connection's way until
// it has come.
struct Abandoned {
  Session& session;
  PatientWait wait;
  net::Request& request;
  std::shared_ptr<void> owner;
  bool is_probe;

  void OnEnd() {
    const bool answered = net::Answered(request.outcome);
    if (answered) {
      session.counters().hedge_wasted_bytes.Add(request.item_bytes);
    }
    const net::TimePoint now = session.runtime().Now();
    const net::Duration took = now - wait.asked_at;
    const bool in_time = answered && took <= wait.patience;
    LateServers& servers = session.late_servers();
    if (is_probe) {
      servers.OnProbeEnd(wait.member, took, in_time, now);
    } else if (wait.late || in_time) {
      servers.OnEnd(wait.member, wait.late, answered);
    }
  }
};

void LetGo(std::unique_ptr<Abandoned> abandoned) {
  net::Request& request = abandoned->request;
  request.abandoned = true;
  request.on_placed = nullptr;
  request.done = [](net::Request& ended) {
    const std::unique_ptr<Abandoned> self(
        static_cast<Abandoned*>(ended.context));
    self->OnEnd();
  };
  request.context = abandoned.release();
}

}  // namespace

void Abandon(Session& session, const PatientWait& wait, net::Request& request,
             std::shared_ptr<void> owner) {
  if (wait.late) {
    session.late_servers().OnOvertaken(wait.member, session.runtime().Now());
  }
  LetGo(std::make_unique<Abandoned>(
      Abandoned{session, wait, request, std::move(owner), false}));
}

void AbandonProbe(Session& session, const PatientWait& wait,
                  net::Request& request, std::shared_ptr<void> owner) {
  LetGo(std::make_unique<Abandoned>(
      Abandoned{session, wait, request, std::move(owner), true}));
}

}  // namespace ers::store
