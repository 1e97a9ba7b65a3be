#include "bench/plain_client.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace ers::bench {
namespace {

struct Address {
  std::string host;  // or the path of a unix socket
  std::uint16_t port = 0;
  bool is_unix = false;
};

bool ParsePort(std::string_view text, std::uint16_t* port) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *port);
  return error == std::errc() && end == text.data() + text.size() && *port != 0;
}

Result<Address> ParseAddress(std::string_view server) {
  const auto bad = [&] {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("server '{}': write host:port, [IPv6]:port or "
                            "/unix/socket",
                            server));
  };
  if (server.empty()) return bad();
  Address address;
  if (server.front() == '/') {
    address.host = server;
    address.is_unix = true;
    return address;
  }
  std::string_view rest;
  if (server.front() == '[') {
    const auto close = server.find("]:");
    if (close == std::string_view::npos) return bad();
    address.host = server.substr(1, close - 1);
    rest = server.substr(close + 2);
  } else {
    const auto colon = server.find(':');
    if (colon == std::string_view::npos) return bad();
    address.host = server.substr(0, colon);
    rest = server.substr(colon + 1);
  }
  // A weight is for rings; here the caller names the server.
  if (!ParsePort(rest.substr(0, rest.find(':')), &address.port)) return bad();
  return address;
}

}  // namespace

Result<std::unique_ptr<PlainClient>> PlainClient::Open(
    std::string_view servers) {
  std::unique_ptr<PlainClient> client(new PlainClient);
  while (true) {
    const auto comma = servers.find(',');
    Status added = client->Add(servers.substr(0, comma));
    if (!added.ok()) return Fail(std::move(added));
    if (comma == std::string_view::npos) return client;
    servers.remove_prefix(comma + 1);
  }
}

Status PlainClient::Add(std::string_view server) {
  const auto address = ParseAddress(server);
  if (!address.has_value()) return address.error();
  Handle handle(memcached_create(nullptr));
  if (handle == nullptr) return {StatusCode::kNoMemory, "no memory"};
  memcached_st* raw = handle.get();
  // Most of these are defaults; they are what the comparison rests on.
  memcached_behavior_set(raw, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 0);
  memcached_behavior_set(raw, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
  memcached_behavior_set(raw, MEMCACHED_BEHAVIOR_NO_BLOCK, 0);
  memcached_behavior_set(raw, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 0);
  memcached_behavior_set(raw, MEMCACHED_BEHAVIOR_NOREPLY, 0);
  const memcached_return_t code =
      address->is_unix
          ? memcached_server_add_unix_socket(raw, address->host.c_str())
          : memcached_server_add(raw, address->host.c_str(), address->port);
  handles_.push_back(std::move(handle));
  names_.emplace_back(server);
  if (code == MEMCACHED_SUCCESS) return {};
  return Failure(handles_.size() - 1, "add", code);
}

Status PlainClient::Failure(std::size_t server, std::string_view verb,
                            memcached_return_t code) const {
  return {StatusCode::kUnavailable,
          fmt::format("server {}: {} by libmemcached: {}", names_[server], verb,
                      memcached_strerror(handles_[server].get(), code))};
}

Status PlainClient::Set(std::size_t server, std::string_view key,
                        std::span<const std::byte> value) {
  const memcached_return_t code =
      memcached_set(handles_[server].get(), key.data(), key.size(),
                    reinterpret_cast<const char*>(value.data()), value.size(),
                    /*expiration=*/0, /*flags=*/0);
  return code == MEMCACHED_SUCCESS ? Status() : Failure(server, "set", code);
}

Result<Fetched> PlainClient::Get(std::size_t server, std::string_view key) {
  std::size_t size = 0;
  std::uint32_t flags = 0;
  memcached_return_t code = MEMCACHED_SUCCESS;
  Fetched fetched;
  fetched.data.reset(memcached_get(handles_[server].get(), key.data(),
                                   key.size(), &size, &flags, &code));
  fetched.size = size;
  if (code == MEMCACHED_SUCCESS) return fetched;
  if (code == MEMCACHED_NOTFOUND) {
    return Fail(StatusCode::kNotFound,
                fmt::format("server {}: no '{}'", names_[server], key));
  }
  return Fail(Failure(server, "get", code));
}

Status PlainClient::Delete(std::size_t server, std::string_view key) {
  const memcached_return_t code =
      memcached_delete(handles_[server].get(), key.data(), key.size(), 0);
  return code == MEMCACHED_SUCCESS || code == MEMCACHED_NOTFOUND
             ? Status()
             : Failure(server, "delete", code);
}

}  // namespace ers::bench
