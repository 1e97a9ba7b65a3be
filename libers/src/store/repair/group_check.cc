#include "store/repair/group_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "code/kernel.h"
#include "plan/planners.h"
#include "store/format/block_header.h"
#include "store/format/expiry.h"
#include "store/membership/batch.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Outcome;
using net::Task;

class GroupChecker {
 public:
  GroupChecker(Session& session, const ObjectMap& map, int group,
               const View& view)
      : session_(session),
        map_(map),
        group_(group),
        view_(view),
        stored_(map.geometry().StoredBlocks(map.width())) {
    const auto ids = static_cast<std::size_t>(map.geometry().block_id_count());
    content_.resize(ids);
    as_stored_.resize(ids);
  }

  Task<GroupCheck> Run() {
    co_await Fetch();
    check_.blocks = stored_.size();
    for (const Read& read : reads_) Classify(read);
    if (Decode()) CompareParity();
    co_return std::move(check_);
  }

 private:
  struct Read {
    BlockId block = 0;
    int member = 0;
    std::string key;
    BlockHeaderBytes header{};
    std::array<iovec, 2> into{};
    net::Request request;
  };

  [[nodiscard]] std::size_t BytesOf(BlockId block) const {
    return map_.BlockBytes(group_, block);
  }

  std::uint8_t* Bytes(BlockId block) {
    if (!content_[block]) {
      content_[block] = std::make_unique<std::byte[]>(BytesOf(block));
    }
    return reinterpret_cast<std::uint8_t*>(content_[block].get());
  }

  [[nodiscard]] bool MayRepeat(int member) const {
    const net::ServerLink::State state = session_.link(member).state();
    return state == net::ServerLink::State::kUp ||
           state == net::ServerLink::State::kConnecting;
  }

  // Where the process goes by no view its connections lead to any memory.
  [[nodiscard]] bool IsOtherMemory(int member) const {
    const net::ServerLink& link = session_.link(member);
    const Member& known = view_.members[static_cast<std::size_t>(member)];
    return link.state() == net::ServerLink::State::kUp &&
           link.facts().boot_mark != known.boot_mark;
  }

  // Of a connection that only broke once more.
  Task<void> Fetch() {
    for (const BlockId block : stored_) {
      Read& read = reads_.emplace_back();
      read.block = block;
      read.member = map_.MemberOf(group_, block);
      read.request.outcome = Outcome::kNotSent;
      if (!map_.GenerationOf(group_, block)) continue;
      read.key = map_.KeyOf(group_, block);
      read.into = {iovec{read.header.data(), read.header.size()},
                   iovec{Bytes(block), BytesOf(block)}};
      read.request.verb = net::Verb::kGet;
      read.request.key = read.key;
      read.request.into = read.into;
      read.request.no_bump = true;
    }
    for (int i = 0; i < 2; ++i) {
      Batch batch(session_.runtime());
      for (Read& read : reads_) {
        const bool wanted = !read.key.empty() &&
                            !net::Answered(read.request.outcome) &&
                            session_.Readable(read.member) &&
                            (i == 0 || MayRepeat(read.member));
        if (!wanted) continue;
        batch.Send(SendStep::kReadBlock, session_.link(read.member),
                   read.request);
      }
      co_await batch;
    }
  }

  void Classify(const Read& read) {
    const BlockId block = read.block;
    const Outcome outcome = read.request.outcome;
    const auto member = static_cast<std::size_t>(read.member);
    const bool down = view_.members[member].state == MemberState::kDown ||
                      IsOtherMemory(read.member);
    const BlockHeader expected{map_.GenerationOf(group_, block),
                               map_.Number(group_, block)};
    if (outcome == Outcome::kOk &&
        VerifyBlock(expected, read.header, content_[block].get(),
                    BytesOf(block))) {
      as_stored_[block] = true;
      check_.bytes += BytesOf(block);
      if (EndsBefore(read.request.item_ttl, map_.manifest().expiry,
                     session_.WallMicros())) {
        Note(block, Fault::kMissing);
        check_.lacking.lost.push_back(block);
      }
      return;
    }
    missing_.blocks.push_back(block);
    const bool never = read.key.empty();
    const bool answered = outcome == Outcome::kOk ||
                          outcome == Outcome::kMiss ||
                          outcome == Outcome::kWrongSize;
    if (down || (!never && !answered)) {
      out_of_reach_ = true;
      Note(block, Fault::kOutOfReach);
    } else if (never) {
      Note(block, Fault::kNeverStored);
      check_.lacking.never.push_back(block);
    } else {
      Note(block,
           outcome == Outcome::kMiss ? Fault::kMissing : Fault::kCorrupt);
      check_.lacking.lost.push_back(block);
    }
  }

  void Note(BlockId block, Fault fault) {
    check_.faults.emplace_back(block, fault);
  }

  // Data that is missing, out of the rest; false where there is too little.
  bool Decode() {
    const layout::Geometry& geometry = map_.geometry();
    std::vector<BlockId> data(static_cast<std::size_t>(geometry.data_blocks()));
    std::iota(data.begin(), data.end(), 0);
    const std::optional<plan::Plan> plan =
        plan::PlanGet(geometry, map_.width(), data, missing_);
    if (!plan) {
      check_.readable = Status(
          out_of_reach_ ? StatusCode::kUnavailable : StatusCode::kCorruption,
          fmt::format(
              "key '{}': more blocks are {} than the redundancy can "
              "replace",
              map_.manifest().key,
              out_of_reach_ ? "gone or out of reach" : "gone or damaged"));
      return false;
    }
    for (const plan::Step& step : plan->steps) RunStep(step, plan->reads);
    return true;
  }

  // `inputs` are those that the step counts from.
  void RunStep(const plan::Step& step, const std::vector<BlockId>& inputs) {
    const std::size_t cell = map_.CellBytes(group_);
    std::vector<const std::uint8_t*> from;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      from.push_back(Bytes(inputs[step.inputs[i]]) +
                     cell * static_cast<std::size_t>(step.InputCell(i)));
    }
    std::vector<std::uint8_t*> to;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const BlockId block = step.outputs[i];
      to.push_back(
          (map_.geometry().IsData(block) ? Bytes(block) : Encoded(block)) +
          cell * static_cast<std::size_t>(step.OutputCell(i)));
    }
    code::DefaultKernel().Multiply(step.coefficients, from, to,
                                   cell * static_cast<std::size_t>(step.cells));
  }

  // Where parity is encoded anew.
  std::uint8_t* Encoded(BlockId parity) {
    const auto parity_index = static_cast<std::size_t>(
        map_.geometry().Info(parity, map_.width()).parity);
    encoded_.resize(static_cast<std::size_t>(map_.geometry().scheme().m));
    std::unique_ptr<std::byte[]>& bytes = encoded_[parity_index];
    if (!bytes) bytes = std::make_unique<std::byte[]>(BytesOf(parity));
    return reinterpret_cast<std::uint8_t*>(bytes.get());
  }

  // Of a column, several steps make parity; of a stripe in blocks, one does.
  void CompareParity() {
    const plan::Plan put = plan::PlanPut(map_.geometry(), map_.width(), {});
    std::map<BlockId, int> to_make;
    for (const plan::Step& step : put.steps) {
      for (const BlockId parity : step.outputs) ++to_make[parity];
    }
    for (const plan::Step& step : put.steps) {
      RunStep(step, put.given);
      for (const BlockId parity : step.outputs) {
        if (--to_make[parity] == 0) Compare(parity);
      }
    }
  }

  // Where data of a stripe came out of its parity, it is not known which of
  // them is wrong: nothing there can be repaired.
  void Compare(BlockId parity) {
    if (!as_stored_[parity]) return;
    const bool same =
        std::memcmp(Encoded(parity), Bytes(parity), BytesOf(parity)) == 0;
    if (same) return;
    Note(parity, Fault::kParityMismatch);
    const layout::Geometry& geometry = map_.geometry();
    const int stripe = geometry.Info(parity, map_.width()).stripe;
    const auto data = geometry.StripeData(map_.width(), stripe);
    if (std::all_of(data.begin(), data.end(), [this](BlockId block) {
          return bool(as_stored_[block]);
        })) {
      check_.lacking.wrong.push_back(parity);
      return;
    }
    const auto beside = [&](BlockId block) {
      return geometry.Info(block, map_.width()).stripe == stripe;
    };
    std::erase_if(check_.lacking.lost, beside);
    std::erase_if(check_.lacking.never, beside);
  }

  Session& session_;
  const ObjectMap& map_;
  const int group_;
  const View& view_;
  const std::vector<BlockId> stored_;
  std::deque<Read> reads_;                             // they do not move
  std::vector<std::unique_ptr<std::byte[]>> content_;  // by block id
  std::vector<std::unique_ptr<std::byte[]>> encoded_;  // by parity of a stripe
  std::vector<bool> as_stored_;  // read, and right; by block id
  plan::Missing missing_;
  bool out_of_reach_ = false;
  GroupCheck check_;
};

}  // namespace

Task<GroupCheck> CheckGroup(Session& session, const ObjectMap& map, int group,
                            const View& view) {
  GroupChecker checker(session, map, group, view);
  co_return co_await checker.Run();
}

}  // namespace ers::store
