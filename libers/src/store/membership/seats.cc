#include "store/membership/seats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace ers::store {
namespace {

using Servers = std::map<std::string, const net::Endpoint*, std::less<>>;

Result<net::Endpoint> ParseServer(const std::string& name, int weight) {
  return net::ParseEndpoint(fmt::format("{}:{}", name, weight));
}

// Of `servers`, the one that stands for the seat; null: none.
const net::Endpoint* FindSeat(const Servers& servers, const Member& seat) {
  for (const std::string* name : {&seat.address, &seat.name, &seat.previous}) {
    if (name->empty()) continue;
    const auto found = servers.find(*name);
    if (found != servers.end()) return found->second;
  }
  return nullptr;
}

Servers ByName(std::span<const net::Endpoint> servers) {
  Servers names;
  for (const net::Endpoint& server : servers) names[server.name()] = &server;
  return names;
}

}  // namespace

net::Endpoint EndpointOf(const Member& member) {
  return ParseServer(member.server(), member.weight).value();
}

bool FitsServers(std::span<const net::Endpoint> servers, const View& view) {
  return Differences(servers, view).empty();
}

std::string Differences(std::span<const net::Endpoint> servers,
                        const View& view) {
  Servers left = ByName(servers);
  std::string text;
  const auto add = [&text](const std::string& difference) {
    text += (text.empty() ? "" : ", ") + difference;
  };
  for (const Member& seat : view.members) {
    const net::Endpoint* server = FindSeat(left, seat);
    if (!ParseServer(seat.name, seat.weight)) {
      add(fmt::format("'{}' is no address", seat.name));
    } else if (server == nullptr) {
      add(fmt::format("{} is missing", seat.server()));
      continue;
    } else if (server->weight != seat.weight) {
      add(fmt::format("{} has weight {}, not {}", server->name(), seat.weight,
                      server->weight));
    }
    if (server != nullptr) left.erase(server->name());
  }
  for (const auto& [name, server] : left) {
    add(fmt::format("{} is none of its servers", name));
  }
  return text;
}

bool SameSeats(const View& one, const View& other) {
  return std::equal(one.members.begin(), one.members.end(),
                    other.members.begin(), other.members.end(),
                    [](const Member& a, const Member& b) {
                      return a.name == b.name && a.weight == b.weight;
                    });
}

std::vector<std::string> Outdated(std::span<const net::Endpoint> servers,
                                  const View& view) {
  const Servers names = ByName(servers);
  std::vector<std::string> outdated;
  for (const Member& seat : view.members) {
    const net::Endpoint* server = FindSeat(names, seat);
    if (server == nullptr || server->name() == seat.server()) continue;
    outdated.push_back(fmt::format("{} has taken the place of {}",
                                   seat.server(), server->name()));
  }
  return outdated;
}

std::shared_ptr<const net::Ring> SeatRing::Of(const View& view) {
  const std::lock_guard lock(mutex_);
  const bool same = std::equal(
      seats_.begin(), seats_.end(), view.members.begin(), view.members.end(),
      [](const net::Endpoint& a, const Member& b) {
        return a.weight == b.weight && a.name() == b.name;
      });
  if (same && ring_) return ring_;
  seats_.clear();
  for (const Member& member : view.members) {
    seats_.push_back(ParseServer(member.name, member.weight).value());
  }
  ring_ = std::make_shared<const net::Ring>(seats_);
  return ring_;
}

}  // namespace ers::store
