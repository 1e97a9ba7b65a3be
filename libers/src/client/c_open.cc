// Opening and closing, apart from the calls on objects so that these can be
// linked with any ers::Client.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "client/c_api.h"

using ers::c_api::NullArgument;

namespace {

// Reports `status` to a caller that has no client yet.
ers_status Report(const ers::Status& status, char* error,
                  std::size_t error_bytes) {
  if (error != nullptr && error_bytes > 0) {
    const std::size_t length =
        std::min(status.message().size(), error_bytes - 1);
    std::memcpy(error, status.message().data(), length);
    error[length] = '\0';
  }
  return ers::c_api::ToC(status.code());
}

// Runs `body`, which returns a Status, letting nothing thrown inside out.
template <typename Body>
ers_status Open(char* error, std::size_t error_bytes,
                const Body& body) noexcept {
  try {
    return Report(body(), error, error_bytes);
  } catch (...) {
    if (error != nullptr && error_bytes > 0) error[0] = '\0';
    return ERS_NO_MEMORY;
  }
}

int Milliseconds(std::chrono::milliseconds duration) {
  return static_cast<int>(duration.count());
}

ers::ClusterOptions FromC(const ers_cluster_options& options) {
  ers::ClusterOptions out;
  out.servers = options.servers;
  if (options.state_file != nullptr) out.state_file = options.state_file;
  out.max_failures = options.max_failures;
  out.min_redundancy = options.min_redundancy;
  out.connect_timeout = std::chrono::milliseconds(options.connect_timeout_ms);
  out.request_timeout = std::chrono::milliseconds(options.request_timeout_ms);
  out.operation_timeout =
      std::chrono::milliseconds(options.operation_timeout_ms);
  out.hedge_percent = options.hedge_percent;
  if (options.through != nullptr) out.through = options.through;
  if (options.through_token != nullptr) {
    out.through_token = options.through_token;
  }
  if (options.log != nullptr) {
    out.log = [sink = options.log, context = options.log_context](
                  ers::LogLevel level, std::string_view line) {
      sink(context, static_cast<ers_log_level>(level),
           std::string(line).c_str());
    };
  }
  return out;
}

static_assert(static_cast<int>(ers::LogLevel::kDebug) == ERS_LOG_DEBUG);
static_assert(static_cast<int>(ers::LogLevel::kError) == ERS_LOG_ERROR);

}  // namespace

extern "C" {

// The build defines ERS_VERSION too, as the project's: a header that says
// anything else does not compile.
const char* ers_version(void) { return ERS_VERSION; }

void ers_cluster_options_init(ers_cluster_options* options) {
  const ers::ClusterOptions defaults;
  *options = {};
  options->connect_timeout_ms = Milliseconds(defaults.connect_timeout);
  options->request_timeout_ms = Milliseconds(defaults.request_timeout);
  options->operation_timeout_ms = Milliseconds(defaults.operation_timeout);
  options->hedge_percent = defaults.hedge_percent;
}

ers_status ers_cluster_open(const ers_cluster_options* options,
                            ers_cluster** cluster, char* error,
                            size_t error_bytes) {
  return Open(error, error_bytes, [&]() -> ers::Status {
    if (cluster == nullptr) return NullArgument("cluster");
    *cluster = nullptr;
    if (options == nullptr) return NullArgument("options");
    if (options->servers == nullptr) return NullArgument("options->servers");
    auto opened = ers::Cluster::Open(FromC(*options));
    if (!opened) return opened.error();
    *cluster = new ers_cluster{std::move(*opened)};
    return {};
  });
}

void ers_cluster_close(ers_cluster* cluster) { delete cluster; }

void ers_client_options_init(ers_client_options* options) {
  const ers::ClientOptions defaults;
  *options = {};
  options->inline_below = defaults.inline_below;
  options->column_below = defaults.column_below;
  options->cached_manifests = defaults.cached_manifests;
}

ers_status ers_client_open(ers_cluster* cluster,
                           const ers_client_options* options,
                           ers_client** client, char* error,
                           size_t error_bytes) {
  return Open(error, error_bytes, [&]() -> ers::Status {
    if (client == nullptr) return NullArgument("client");
    *client = nullptr;
    if (cluster == nullptr) return NullArgument("cluster");
    ers::ClientOptions cpp;
    if (options != nullptr) {
      if (options->scheme != nullptr) {
        auto scheme = ers::ParseScheme(options->scheme);
        if (!scheme) return scheme.error();
        cpp.scheme = *scheme;
      }
      cpp.inline_below = options->inline_below;
      cpp.column_below = options->column_below;
      cpp.cached_manifests = options->cached_manifests;
    }
    auto opened = ers::Client::Open(cluster->cluster, cpp);
    if (!opened) return opened.error();
    *client = new ers_client{std::move(*opened), {}, nullptr};
    return {};
  });
}

void ers_client_close(ers_client* client) { delete client; }

}  // extern "C"
