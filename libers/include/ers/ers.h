/* The C interface of libers: the calls of ers/client.h for C and for every
 * language that can call C.
 *
 *   ers_cluster_options options;
 *   ers_cluster_options_init(&options);
 *   options.servers = "10.0.0.1:11211,...";
 *   ers_cluster *cluster;
 *   ers_client *client;
 *   char error[ERS_ERROR_BYTES];
 *   ers_cluster_open(&options, &cluster, error, sizeof error);
 *   ers_client_open(cluster, NULL, &client, error, sizeof error);
 *   ers_put(client, "key", 3, bytes, size, NULL, NULL);
 *
 * Every call that returns ers_status follows these rules; its own comment
 * adds what is particular to it.
 *
 * Outcome of a change (put, update, append, delete, export, transition), which
 * is atomic: whatever dies in the middle, readers see the old object or the new
 * one, whole.
 *   ERS_OK               stored, and safe while no more than m servers are out,
 *                        those that were out already counted
 *   ERS_OUTCOME_UNKNOWN  the old or the new one, whole; later reads agree
 *   anything else        the old object stands (none, if there was none)
 * Where this process runs out of memory, it may end: most of the library cannot
 * go on without. Where that shows at the edge of a call, one that only reads
 * returns ERS_NO_MEMORY and a change ERS_OUTCOME_UNKNOWN.
 *
 * Output arguments are written on ERS_OK only, unless a comment says more.
 *
 * Arguments. A key is `key_bytes` bytes, 1 to ERS_MAX_KEY_BYTES, without spaces
 * or control characters, else ERS_INVALID_ARGUMENT; it need not end in 0. A
 * null pointer where none is allowed is ERS_INVALID_ARGUMENT. Options may be
 * NULL for the defaults. Memory passed in is used during the call only.
 *
 * Threads. A cluster: any thread. A client: one thread at a time, the caller's
 * duty; open one per thread on the shared cluster. Callbacks run on the calling
 * thread, must return normally and must not use the client they are called by.
 *
 * Fork. A cluster or client may not be used, nor closed, in a child process
 * after fork(2); open new ones there.
 *
 * The library prints nothing, and never exits the process but as above.
 *
 * A structure gets new members only together with a new SONAME. */
#ifndef ERS_ERS_H_
#define ERS_ERS_H_

#include <stddef.h>
#include <stdint.h>

#include "ers/export.h"

/* The version of this header. */
#define ERS_VERSION_MAJOR 0
#define ERS_VERSION_MINOR 1
#define ERS_VERSION_PATCH 0
#define ERS_VERSION "0.1.0"

#define ERS_MAX_KEY_BYTES 250
#define ERS_MAX_VALUE_BYTES ((uint64_t)256 << 20)
/* Room for a scheme and for a change id, with their final 0. */
#define ERS_SCHEME_BYTES 32
#define ERS_CHANGE_ID_BYTES 40
/* A good size for the error buffers of the open calls. */
#define ERS_ERROR_BYTES 512

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs, e.g. "0.1.0". Static storage. */
ERS_API const char* ers_version(void);

/* The codes of ers/status.h, with the same numbers and meanings. */
typedef enum ers_status {
  ERS_OK = 0,
  ERS_NOT_FOUND = 1,
  ERS_INVALID_ARGUMENT = 2,
  ERS_UNAVAILABLE = 3,
  ERS_OUTCOME_UNKNOWN = 4,
  ERS_NO_MEMORY = 5,
  ERS_TOO_LARGE = 6,
  ERS_CORRUPTION = 7,
  ERS_UNSUPPORTED_FORMAT = 8,
  ERS_NOT_MANAGED = 9,
  ERS_CONFLICT = 10,
  ERS_ALREADY_THERE = 11,
  ERS_INCOMPATIBLE = 12
} ers_status;

/* The code's name, e.g. "not-found"; "unknown" for any other number. Static
 * storage. Any thread. */
ERS_API const char* ers_status_name(ers_status status);

/* ------------------------------------------------------ cluster and client */

typedef struct ers_cluster ers_cluster;
typedef struct ers_client ers_client;

typedef enum ers_log_level {
  ERS_LOG_DEBUG = 0,
  ERS_LOG_INFO = 1,
  ERS_LOG_WARNING = 2,
  ERS_LOG_ERROR = 3
} ers_log_level;

/* Receives a log line (no newline, ends in 0), valid during the call. Called on
 * any thread that is inside a call of the library. */
typedef void (*ers_log_sink)(void* context, ers_log_level level,
                             const char* line);

/* ers::ClusterOptions, with the same defaults. */
typedef struct ers_cluster_options {
  const char* servers;    /* "host:port[:weight],[IPv6]:port,/unix/socket" */
  const char* state_file; /* NULL: the view is kept on the servers alone */
  int max_failures;       /* f; 0: the cluster's */
  int min_redundancy;     /* of new values: servers that may still be lost */
  int connect_timeout_ms;
  int request_timeout_ms;   /* silence after which a server counts as dead */
  int operation_timeout_ms; /* after which a call gives up */
  int hedge_percent; /* of what is read: in vain, to be sooner; 0: none */
  ers_log_sink log;  /* NULL: silent */
  void* log_context;
  const char* through;       /* "host:port" of a proxy; NULL: none */
  const char* through_token; /* which it wants; NULL: none */
} ers_cluster_options;

/* Sets every member to its default; `servers` to NULL. */
ERS_API void ers_cluster_options_init(ers_cluster_options* options);

/* Checks the options; does not connect. On success *cluster is the caller's, to
 * be closed by ers_cluster_close. On failure *cluster is NULL and `error` (may
 * be NULL; `error_bytes` long) holds a sentence, cut to fit, that names the
 * option. ERS_INVALID_ARGUMENT or ERS_NO_MEMORY. Any thread. */
ERS_API ers_status ers_cluster_open(const ers_cluster_options* options,
                                    ers_cluster** cluster, char* error,
                                    size_t error_bytes);

/* Gives the cluster up; its open clients go on. NULL is fine. */
ERS_API void ers_cluster_close(ers_cluster* cluster);

/* Where coding saves memory, values are coded: ers::kInlineAuto. */
#define ERS_INLINE_AUTO ((size_t)-1)

/* ers::ClientOptions, with the same defaults. */
typedef struct ers_client_options {
  const char* scheme;      /* of objects that name none: "ers2:4,1,5" */
  size_t inline_below;     /* shorter values ride in the manifest:
                              ERS_INLINE_AUTO, or at most 1 MiB */
  size_t column_below;     /* shorter elastic values are stored as columns; at
                              most 1 MiB */
  size_t cached_manifests; /* remembered, so that a get needs one round trip */
} ers_client_options;

ERS_API void ers_client_options_init(ers_client_options* options);

/* As ers_cluster_open; the client is closed by ers_client_close. Any thread. */
ERS_API ers_status ers_client_open(ers_cluster* cluster,
                                   const ers_client_options* options,
                                   ers_client** client, char* error,
                                   size_t error_bytes);

/* Closes the client and its connections. NULL is fine. */
ERS_API void ers_client_close(ers_client* client);

/* What went wrong in this client's last call: a sentence that names the server
 * or argument at fault and what to do; "" after a success. Valid until the
 * client's next call. The client's thread rule holds. */
ERS_API const char* ers_last_error(const ers_client* client);

/* ----------------------------------------------------------------- objects */

/* The first and the last width of a scheme, and those between, which only
 * chains (ers:K1-K2-..,M) have. */
typedef enum ers_width {
  ERS_NARROW = 0,
  ERS_WIDE = 1,
  ERS_SECOND = 2,
  ERS_THIRD = 3
} ers_width;

/* The width of `scheme` (NULL: the default of ers_client_options) that has the
 * name: "narrow", "wide", or the data blocks of a stripe, as "6".
 * ERS_INVALID_ARGUMENT: the scheme is none, or has no such width. Any thread.
 */
ERS_API ers_status ers_width_named(const char* scheme, const char* name,
                                   ers_width* width);
/* The name of a scheme's width, cut to fit: "narrow" or "wide"; of a chain the
 * data blocks of a stripe. As above. */
ERS_API ers_status ers_width_name(const char* scheme, ers_width width,
                                  char* name, size_t name_bytes);

typedef struct ers_object_info {
  char scheme[ERS_SCHEME_BYTES];
  ers_width width;
  int is_inline;        /* 1: the value rides in the manifest; 0, and
                           no groups: in a pack */
  int in_columns;       /* 1: its items are columns, not blocks */
  uint64_t length;      /* bytes */
  uint64_t group_bytes; /* value bytes of a full group */
  int groups;           /* 0 when inline */
  uint32_t client_flags;
  uint64_t cas;                      /* changes exactly when content does */
  int64_t expiry;                    /* Unix seconds, 0 never */
  char version[ERS_CHANGE_ID_BYTES]; /* change id, hex */
  int degraded;        /* gets: 1: some blocks had to be decoded */
  int repaired_blocks; /* gets: written back on the way */
} ers_object_info;

typedef struct ers_put_options {
  const char* scheme; /* NULL: the client's */
  ers_width width;    /* that an elastic object is born with */
  uint32_t client_flags;
  int64_t expiry;        /* absolute Unix seconds; 0 never */
  uint64_t expected_cas; /* the object must have it; 0: no condition */
  int only_if_absent;    /* 1: there must be no object */
} ers_put_options;

ERS_API void ers_put_options_init(ers_put_options* options);

/* Stores `bytes` bytes at `value` under the key, replacing what is there.
 * ERS_TOO_LARGE over ERS_MAX_VALUE_BYTES; ERS_CONFLICT: expected_cas did not
 * match, or only_if_absent and there is one. `value` may be NULL if `bytes` is
 * 0. `info` may be NULL. */
ERS_API ers_status ers_put(ers_client* client, const char* key,
                           size_t key_bytes, const void* value, size_t bytes,
                           const ers_put_options* options,
                           ers_object_info* info);

/* Fills at most `bytes` bytes at `into`; returns how many it put there, 0 at
 * the end of the value, -1 to give up: the call that uses it then fails with
 * ERS_INVALID_ARGUMENT and the old object stands. */
typedef ptrdiff_t (*ers_source)(void* context, void* into, size_t bytes);

/* ers_put from a source, in bounded memory. */
ERS_API ers_status ers_put_from(ers_client* client, const char* key,
                                size_t key_bytes, ers_source source,
                                void* context, const ers_put_options* options,
                                ers_object_info* info);

/* Bytes of a value that the library allocated. Start from NULL; pass the same
 * one to further gets to reuse its memory. Thread rule: one at a time. */
typedef struct ers_value ers_value;

/* Valid until the value is passed to a get or freed. May be NULL if the size is
 * 0. Of a NULL value: NULL and 0. */
ERS_API const void* ers_value_data(const ers_value* value);
ERS_API size_t ers_value_bytes(const ers_value* value);
ERS_API void ers_value_free(ers_value* value); /* NULL is fine */

/* Reads the whole value into *value, which is made if it is NULL and is the
 * caller's to free, whatever the outcome. On a miss (ERS_NOT_FOUND) or failure
 * it is empty. `info` may be NULL. */
ERS_API ers_status ers_get(ers_client* client, const char* key,
                           size_t key_bytes, ers_value** value,
                           ers_object_info* info);

/* The same for bytes [offset, offset + length), cut at the end of the value.
 * ERS_INVALID_ARGUMENT where offset is beyond the end. */
ERS_API ers_status ers_get_range(ers_client* client, const char* key,
                                 size_t key_bytes, uint64_t offset,
                                 uint64_t length, ers_value** value,
                                 ers_object_info* info);

/* Reads the whole value into the `room` bytes at `into`; it is copied nowhere
 * else. `*bytes` (may be NULL) is its length. ERS_TOO_LARGE where `room` is
 * less. On a failure the memory may have been written to. */
ERS_API ers_status ers_get_into(ers_client* client, const char* key,
                                size_t key_bytes, void* into, size_t room,
                                size_t* bytes, ers_object_info* info);
/* The same for bytes [offset, offset + room), cut at the end of the value. */
ERS_API ers_status ers_get_range_into(ers_client* client, const char* key,
                                      size_t key_bytes, uint64_t offset,
                                      void* into, size_t room, size_t* bytes,
                                      ers_object_info* info);

/* Gives memory for `bytes` bytes, never 0, that is valid until the get has
 * returned, or NULL: the get then fails with ERS_TOO_LARGE. A get asks more
 * than once where the object changes meanwhile; what is given last has the
 * bytes. */
typedef void* (*ers_memory)(void* context, size_t bytes);

/* Reads bytes [offset, offset + length), cut at the end of the value, into what
 * `memory` gives, for callers that do not know how long the value is. */
ERS_API ers_status ers_get_by(ers_client* client, const char* key,
                              size_t key_bytes, uint64_t offset,
                              uint64_t length, ers_memory memory, void* context,
                              size_t* bytes, ers_object_info* info);

/* Called once, before the first byte. */
typedef void (*ers_begin)(void* context, const ers_object_info* info);
/* Takes the next bytes of the value, valid during the call. Returns 0 to go
 * on; anything else ends the get with ERS_INVALID_ARGUMENT. */
typedef int (*ers_sink)(void* context, const void* bytes, size_t size);

/* Streams the value in order, in bounded memory. On a miss nothing is called.
 * On a failure the sink has seen a prefix of one version of the value, never a
 * mix. `begin` and `info` may be NULL. */
ERS_API ers_status ers_get_to(ers_client* client, const char* key,
                              size_t key_bytes, ers_begin begin, ers_sink sink,
                              void* context, ers_object_info* info);

/* Overwrites bytes [offset, offset + bytes) of an existing value.
 * ERS_NOT_FOUND; ERS_INVALID_ARGUMENT where that reaches beyond the end. */
ERS_API ers_status ers_update(ers_client* client, const char* key,
                              size_t key_bytes, uint64_t offset,
                              const void* value, size_t bytes,
                              ers_object_info* info);

/* Adds bytes at the end of an existing value. ERS_NOT_FOUND; ERS_TOO_LARGE
 * where that passes ERS_MAX_VALUE_BYTES. */
ERS_API ers_status ers_append(ers_client* client, const char* key,
                              size_t key_bytes, const void* value, size_t bytes,
                              ers_object_info* info);
ERS_API ers_status ers_append_from(ers_client* client, const char* key,
                                   size_t key_bytes, ers_source source,
                                   void* context, ers_object_info* info);

/* ERS_NOT_FOUND where there was nothing. */
ERS_API ers_status ers_delete(ers_client* client, const char* key,
                              size_t key_bytes);

typedef enum ers_export_mode {
  ERS_EXPORT = 0,
  ERS_CHECK_ONLY = 1 /* reads and checks all, changes nothing */
} ers_export_mode;

/* Turns an object into the plain memcached item that clients without this
 * library find, whole and without redundancy, with client flags and expiry.
 * Whatever dies in the middle, the key reads as the object or as the item.
 * ERS_NOT_FOUND; ERS_TOO_LARGE for the server's item limit; ERS_ALREADY_THERE:
 * it is a plain item; ERS_CONFLICT: another plain item is at the key, too;
 * ERS_INVALID_ARGUMENT for keys and values that no plain item can have. `mode`
 * is of ers_export_mode; `info` (may be NULL) is what the object was. */
ERS_API ers_status ers_export(ers_client* client, const char* key,
                              size_t key_bytes, int mode,
                              ers_object_info* info);

/* -------------------------------------------------------------- transition */

typedef enum ers_variant {
  ERS_OPTIMAL = 0, /* the least reads any code with data in place can do */
  ERS_PAPER = 1,   /* the ERS paper's rule */
  ERS_NO_ORDER = 2 /* backward only: the paper's Experiment 5 */
} ers_variant;

typedef enum ers_path {
  ERS_BY_PLAN = 0,     /* another width, or m too: no data block moved */
  ERS_BY_REENCODE = 1, /* read and written anew */
  ERS_BY_PARITY = 2    /* parity blocks added or dropped: no other one moved */
} ers_path;

typedef struct ers_transition_info {
  ers_path path;
  uint64_t data_reads, parity_reads, writes; /* blocks */
  uint64_t bytes_read, bytes_written;        /* payload */
  uint64_t microseconds;
  ers_object_info object; /* as it is now */
} ers_transition_info;

/* Changes an object's width, m or scheme while reads and updates go on; its
 * content, flags, CAS and expiry stay. `to` is "narrow", "wide", the data
 * blocks of a stripe, as "6"; with a comma and the parity blocks of a stripe
 * both at once, as "wide,2", or m alone, "same,2"; or a scheme; one that
 * differs in m only adds or drops parity blocks under the width that the object
 * has, any other makes it narrow.
 * ERS_NOT_FOUND; ERS_ALREADY_THERE where there is nothing to do;
 * ERS_INVALID_ARGUMENT for a width that the scheme does not have. `info` may
 * be NULL. */
ERS_API ers_status ers_transition(ers_client* client, const char* key,
                                  size_t key_bytes, const char* to,
                                  ers_variant variant,
                                  ers_transition_info* info);

/* -------------------------------------------------------------- inspection */

typedef struct ers_block_state {
  int group;
  int block;          /* id in the group */
  int is_parity;      /* 0: a data block */
  int stripe;         /* under the object's width */
  int node;           /* X_node of the group */
  const char* server; /* member name */
  uint64_t bytes;     /* payload */
  int present;        /* 1: on the server and its size is right */
} ers_block_state;

typedef struct ers_object_detail {
  ers_object_info object;
  const ers_block_state* blocks;
  size_t block_count;
  const char* const*
      replicas; /* members that hold the manifest, primary last */
  size_t replica_count;
} ers_object_detail;

/* The manifest, and whether each block it names is there. On success *detail
 * and all it points to is the caller's, to be freed by ers_object_detail_free;
 * else it is NULL. ERS_NOT_FOUND. */
ERS_API ers_status ers_stat(ers_client* client, const char* key,
                            size_t key_bytes, const ers_object_detail** detail);
ERS_API void ers_object_detail_free(const ers_object_detail* detail);

/* Sees one object; the arguments are valid during the call. 0 goes on, anything
 * else stops, with ERS_OK. */
typedef int (*ers_visit)(void* context, const char* key, size_t key_bytes,
                         const ers_object_info* info);

/* Calls `visit` for every object, in no order, each once. Objects that change
 * meanwhile may be seen or not. On a failure some have been seen. */
ERS_API ers_status ers_list(ers_client* client, ers_visit visit, void* context);

typedef enum ers_member_state {
  ERS_IN_SYNC = 0,
  ERS_BACKFILLING = 1,
  ERS_DOWN = 2
} ers_member_state;

typedef struct ers_server_info {
  const char* name;
  int weight;
  ers_member_state state;
  uint64_t incarnation;
  int64_t since;       /* Unix seconds of the last change of state */
  int reachable;       /* 1: answered now, with the memory of the view */
  const char* version; /* memcached's, "" where nothing answers */
  uint64_t item_size_max;
  int evictions; /* 1: the server may evict */
  const char* last_error;
} ers_server_info;

typedef struct ers_cluster_info {
  uint64_t epoch;   /* of the view; 0: the cluster was never used */
  int max_failures; /* f */
  const ers_server_info* servers;
  size_t server_count;
  int64_t time; /* Unix seconds by the servers' clocks: expiry goes by it */
} ers_cluster_info;

/* The view, and which servers answer now. Ownership as in ers_stat. */
ERS_API ers_status ers_servers(ers_client* client,
                               const ers_cluster_info** info);
ERS_API void ers_cluster_info_free(const ers_cluster_info* info);

/* ers::GarbageOptions, with the same defaults. */
typedef struct ers_garbage_options {
  int64_t grace_ms; /* blocks stored less than twice as long ago stay:
                       changes under way, which take at most an hour
                       (3600000), may need them; less than that is
                       right only while none is made */
  uint64_t objects_per_second; /* that are checked; 0: no limit */
  int dry_run;                 /* not 0: changes nothing, only counts */
} ers_garbage_options;

ERS_API void ers_garbage_options_init(ers_garbage_options* options);

/* In blocks, but where it says otherwise. */
typedef struct ers_garbage_report {
  uint64_t listed;   /* seen on the servers */
  uint64_t live;     /* of an object, of those old enough to judge */
  uint64_t young;    /* not old enough */
  uint64_t expiring; /* they go by themselves within two minutes */
  uint64_t dropped;
  uint64_t dropped_bytes;    /* of the servers' memory */
  uint64_t skipped;          /* could not be decided: see `why` */
  uint64_t flushed;          /* objects that were, or have expired, and are
                                dropped */
  uint64_t packs;            /* that no value is in any more, dropped */
  uint64_t silent;           /* servers that did not list all they hold */
  char why[ERS_ERROR_BYTES]; /* of one that was skipped, or is silent: a
                                sentence, cut to fit; "" where there is none */
} ers_garbage_report;

/* Checks every block on every server that is not out, and drops those that
 * killed processes and the like have left. `options` NULL: the defaults.
 * ERS_INVALID_ARGUMENT: `grace_ms` is negative. `report` may be NULL. */
ERS_API ers_status ers_collect_garbage(ers_client* client,
                                       const ers_garbage_options* options,
                                       ers_garbage_report* report);

#ifdef __cplusplus
}
#endif

#endif /* ERS_ERS_H_ */
