#include "store/blocks/abandoned_read.h"

#include <cstddef>
#include <utility>

namespace ers::store {
namespace {

// It owns itself: replies come in order, so it is in its connection's way until
// it has come.
struct Abandoned {
  Session& session;
  std::unique_ptr<BlockRead> read;
  bool is_probe = false;

  void OnEnd() {
    const net::Request& request = read->request;
    const bool answered = net::Answered(request.outcome);
    if (answered) {
      session.counters().hedge_wasted_bytes.Add(request.item_bytes);
    }
    const net::TimePoint now = session.runtime().Now();
    const net::Duration took = now - read->asked_at;
    const bool in_time = answered && took <= read->patience;
    LateServers& servers = session.late_servers();
    if (is_probe) {
      servers.OnProbeEnd(read->member, took, in_time, now);
    } else if (read->late || in_time) {
      servers.OnEnd(read->member, read->late, answered);
    }
  }
};

void LetGo(std::unique_ptr<Abandoned> abandoned) {
  net::Request& request = abandoned->read->request;
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

void Abandon(Session& session, std::unique_ptr<BlockRead> read) {
  if (read->late) {
    session.late_servers().OnOvertaken(read->member, session.runtime().Now());
  }
  LetGo(std::make_unique<Abandoned>(Abandoned{session, std::move(read)}));
}

void ProbeByRead(const BlockGroup& group, layout::BlockId block) {
  Session& session = group.session;
  auto read = std::make_unique<BlockRead>();
  // Nothing is written to its payload's memory: it has none.
  SetTransfer(group, SendStep::kReadBlock, net::Verb::kGet, block,
              group.map.KeyOf(group.group, block), nullptr, *read);
  read->request.into = read->item;
  read->request.no_bump = true;
  read->asked_at = session.runtime().Now();
  read->patience = session.late_servers().Patience(
      read->member, group.block_bytes(), read->asked_at);
  BlockRead& sent = *read;
  auto probe = std::make_unique<Abandoned>(Abandoned{session, std::move(read)});
  probe->is_probe = true;
  LetGo(std::move(probe));
  SendTransfer(session, sent);
}

}  // namespace ers::store
