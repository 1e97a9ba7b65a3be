#include "store/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/crc32c.h"
#include "ers/options.h"

namespace ers {

std::string_view MemberStateName(MemberState state) {
  switch (state) {
    case MemberState::kFull:
      return "full";
    case MemberState::kFilling:
      return "filling";
    case MemberState::kDown:
      return "down";
  }
  return "unknown";
}

}  // namespace ers

namespace ers::store {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormat = 1;

Result<MemberState> ParseState(const std::string& text) {
  for (const MemberState state :
       {MemberState::kFull, MemberState::kFilling, MemberState::kDown}) {
    if (text == MemberStateName(state)) return state;
  }
  return Fail(StatusCode::kCorruption, "unknown member state " + text);
}

json ToJson(const View& view) {
  json members = json::array();
  for (const Member& member : view.members) {
    members.push_back({{"name", member.name},
                       {"weight", member.weight},
                       {"incarnation", member.incarnation},
                       {"state", MemberStateName(member.state)},
                       {"joined", member.joined},
                       {"boot_mark", member.boot_mark},
                       {"since", member.since}});
  }
  return {{"format", kFormat},
          {"epoch", view.epoch},
          {"max_parity", view.max_parity},
          {"flushed_before", view.flushed_before},
          {"members", std::move(members)}};
}

Result<View> FromJson(const json& root) {
  View view;
  root.at("epoch").get_to(view.epoch);
  root.at("max_parity").get_to(view.max_parity);
  root.at("flushed_before").get_to(view.flushed_before);
  for (const json& entry : root.at("members")) {
    Member member;
    entry.at("name").get_to(member.name);
    entry.at("weight").get_to(member.weight);
    entry.at("incarnation").get_to(member.incarnation);
    Result<MemberState> state = ParseState(entry.at("state"));
    if (!state) return Fail(state.error());
    member.state = *state;
    entry.at("joined").get_to(member.joined);
    entry.at("boot_mark").get_to(member.boot_mark);
    entry.at("since").get_to(member.since);
    view.members.push_back(std::move(member));
  }
  if (view.epoch == 0 || view.members.empty() ||
      view.members.size() > kMaxMembers || view.max_parity < 1 ||
      view.Quorum() < 1) {
    return Fail(StatusCode::kCorruption, "the view record makes no sense");
  }
  return view;
}

}  // namespace

int View::NotFull() const {
  return static_cast<int>(std::count_if(
      members.begin(), members.end(),
      [](const Member& member) { return member.state != MemberState::kFull; }));
}

std::string EncodeView(const View& view) {
  json root = ToJson(view);
  root["crc32c"] = Crc32c(root.dump());
  return root.dump();
}

Result<View> DecodeView(std::string_view text) {
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("format") ||
      !root.contains("crc32c")) {
    return Fail(StatusCode::kNotManaged, "not a view record");
  }
  // The library's JSON accessors throw on a wrong type; nothing leaves here.
  try {
    // A damaged digit may make a number of another kind, which must not even be
    // converted.
    const json& format = root.at("format");
    const json checksum = root.at("crc32c");
    if (!format.is_number_unsigned() || !checksum.is_number_unsigned()) {
      return Fail(StatusCode::kCorruption, "the view record is corrupted");
    }
    if (format.get<std::uint64_t>() > kFormat) {
      return Fail(StatusCode::kUnsupportedFormat,
                  "the view record was written by a newer version of this "
                  "library: upgrade it");
    }
    root.erase("crc32c");
    if (checksum.get<std::uint64_t>() != Crc32c(root.dump())) {
      return Fail(StatusCode::kCorruption, "the view record is corrupted");
    }
    return FromJson(root);
  } catch (const json::exception& error) {
    return Fail(StatusCode::kCorruption,
                fmt::format("the view record is corrupted: {}", error.what()));
  }
}

Homes HomesOf(const View& view, const net::Ring& ring, std::string_view key) {
  Homes homes;
  homes.members = ring.Walk(key, view.max_parity + 1);
  std::erase_if(homes.members, [&view](int member) {
    return view.members[member].state == MemberState::kDown;
  });
  // Latest returned first, then by walk: an insertion keeps the walk's order,
  // and there are only M+1 of them.
  for (std::size_t i = 1; i < homes.members.size(); ++i) {
    for (std::size_t j = i;
         j > 0 && view.members[homes.members[j]].joined >
                      view.members[homes.members[j - 1]].joined;
         --j) {
      std::swap(homes.members[j], homes.members[j - 1]);
    }
  }
  homes.judge_is_full =
      !homes.members.empty() &&
      view.members[homes.members.back()].state == MemberState::kFull;
  return homes;
}

}  // namespace ers::store
