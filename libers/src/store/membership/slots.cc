#include "store/membership/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/mutex.h"

namespace ers::store {
namespace {

using Servers = std::map<std::string, const net::Endpoint*, std::less<>>;

Result<net::Endpoint> ParseServer(const std::string& name, int weight) {
  return net::ParseEndpoint(fmt::format("{}:{}", name, weight));
}

net::Endpoint OnRing(net::Endpoint endpoint, const Member& member) {
  endpoint.label = member.label;
  endpoint.position = member.position;
  return endpoint;
}

// Of `servers`, the one that stands for the slot; null: none.
const net::Endpoint* FindSlot(const Servers& servers, const Member& slot) {
  for (const std::string* name : {&slot.address, &slot.name, &slot.previous}) {
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
  return OnRing(ParseServer(member.server(), member.weight).value(), member);
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
  for (const Member& slot : view.members) {
    const net::Endpoint* server = FindSlot(left, slot);
    if (!ParseServer(slot.name, slot.weight)) {
      add(fmt::format("'{}' is no address", slot.name));
    } else if (server == nullptr) {
      add(fmt::format("{} is missing", slot.server()));
      continue;
    } else if (server->weight != slot.weight) {
      add(fmt::format("{} has weight {}, not {}", server->name(), slot.weight,
                      server->weight));
    } else if (!server->label.empty() && server->label != slot.label) {
      add(fmt::format("{} has {}, not label {}", server->name(),
                      slot.label.empty() ? "no label" : "label " + slot.label,
                      server->label));
    }
    if (server != nullptr) left.erase(server->name());
  }
  for (const auto& [name, server] : left) {
    add(fmt::format("{} is none of its servers", name));
  }
  return text;
}

bool SameSlots(const View& one, const View& other) {
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
  for (const Member& slot : view.members) {
    const net::Endpoint* server = FindSlot(names, slot);
    if (server == nullptr || server->name() == slot.server()) continue;
    outdated.push_back(fmt::format("{} has taken the place of {}",
                                   slot.server(), server->name()));
  }
  return outdated;
}

std::shared_ptr<const net::Ring> SlotRing::Of(const View& view) {
  const MutexLock lock(mutex_);
  const bool same = std::equal(
      slots_.begin(), slots_.end(), view.members.begin(), view.members.end(),
      [](const net::Endpoint& a, const Member& b) {
        return a.weight == b.weight && a.name() == b.name &&
               a.label == b.label && a.position == b.position;
      });
  if (same && ring_ && placement_ == view.placement) return ring_;
  placement_ = view.placement;
  slots_.clear();
  for (const Member& member : view.members) {
    slots_.push_back(
        OnRing(ParseServer(member.name, member.weight).value(), member));
  }
  ring_ = std::make_shared<const net::Ring>(slots_, placement_);
  return ring_;
}

}  // namespace ers::store
