#include "server/request_pipeline.h"

#include <algorithm>

namespace ers::proxy {
namespace {

bool Writes(const ClientRequest& request) {
  return request.operation != Operation::kGet || request.exptime ||
         request.vivify || request.recache;
}

void LetGo(std::optional<net::Latch>& turn) {
  if (turn && turn->count() > 0) turn->CountDown();
}

}  // namespace

bool RequestPipeline::MayStart(const ClientRequest& request) const {
  if (!HasRoom()) return false;
  return std::none_of(slots_.begin(), slots_.end(), [&](const auto& slot) {
    if (slot->done || !InfoOf(slot->request.operation).has_key) return false;
    return slot->request.key == request.key &&
           (Writes(slot->request) || Writes(request));
  });
}

RequestPipeline::Slot& RequestPipeline::Add(ClientRequest&& request) {
  return *slots_.emplace_back(
      std::make_unique<Slot>(account_, std::move(request)));
}

void RequestPipeline::End(Slot& slot) {
  slot.done = true;
  if (slot.trace) slot.trace->ended = runtime_.Now();
  if (slots_.front()->done) {
    const net::TimePoint now = runtime_.Now();
    while (!slots_.empty() && slots_.front()->done) {
      EndGets(*slots_.front());
      answer_(*slots_.front(), now);
      slots_.pop_front();
    }
  }
  if (!slots_.empty()) LetGo(slots_.front()->turn);
  condition_.Wake();
}

// Collects a get line's first error for the end of the line.
void RequestPipeline::EndGets(Slot& slot) {
  if (IsTextGet(slot.request) && slot.outcome != ReplyStatus::kDone &&
      slot.outcome != ReplyStatus::kNotFound && !gets_error_) {
    gets_error_ = slot.outcome;
    gets_error_text_ = std::move(slot.text);
  }
  if (slot.request.operation == Operation::kEndOfGets) {
    Reply reply;
    reply.outcome = gets_error_.value_or(ReplyStatus::kDone);
    reply.text = gets_error_text_;
    AppendReply(slot.request, reply, slot.head);
    gets_error_.reset();
  }
  // It stands for the end of the line.
  if (slot.refused) gets_error_.reset();
}

net::Latch& RequestPipeline::TurnOf(Slot& slot) {
  const bool first = slots_.front().get() == &slot;
  return slot.turn.emplace(runtime_, first ? 0 : 1);
}

void RequestPipeline::Release() {
  for (const auto& slot : slots_) LetGo(slot->turn);
}

}  // namespace ers::proxy
