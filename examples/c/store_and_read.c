/* Stores a value, streams it back to standard output, changes a few bytes in
 * its middle and shows the servers that hold it.
 *
 *   store_and_read host:port,host:port,...   (six servers or more)
 *
 * What it leaves out, for shortness:
 *  - it keeps no state file, so a restart would trust the servers alone for
 *    the newest view (ers_cluster_options.state_file);
 *  - it treats every failure as the end: a real program would try again after
 *    ERS_UNAVAILABLE, and read the key after ERS_OUTCOME_UNKNOWN;
 *  - the value is so short that the library would keep it whole in its
 *    manifest; inline_below = 0 makes blocks of it, to have some to show. */
#include <ers/ers.h>
#include <stdio.h>
#include <string.h>

static const char kKey[] = "example-c";
static const char kText[] = "Any one server may die and this line is read.\n";

/* Says what failed; for use as `return Fail(...)`. */
static int Fail(const char* what, const ers_client* client) {
  fprintf(stderr, "%s: %s\n", what, ers_last_error(client));
  return 1;
}

/* An ers_sink: 0 goes on. */
static int WriteToStdout(void* context, const void* bytes, size_t size) {
  (void)context;
  return fwrite(bytes, 1, size, stdout) == size ? 0 : 1;
}

static int ShowBlocks(ers_client* client) {
  const ers_object_detail* detail;
  if (ers_stat(client, kKey, strlen(kKey), &detail) != ERS_OK) {
    return Fail("stat", client);
  }
  printf("%s, %zu blocks, the first on %s\n", detail->object.scheme,
         detail->block_count, detail->blocks[0].server);
  ers_object_detail_free(detail);
  return 0;
}

static int Run(ers_client* client) {
  const size_t key_bytes = strlen(kKey);
  if (ers_put(client, kKey, key_bytes, kText, strlen(kText), NULL, NULL) !=
      ERS_OK) {
    return Fail("put", client);
  }
  if (ers_get_to(client, kKey, key_bytes, NULL, WriteToStdout, NULL, NULL) !=
      ERS_OK) {
    return Fail("get", client);
  }
  if (ers_update(client, kKey, key_bytes, 0, "ANY", 3, NULL) != ERS_OK) {
    return Fail("update", client);
  }

  ers_value* value = NULL; /* made by the first get, freed by us */
  ers_object_info info;
  const ers_status status = ers_get(client, kKey, key_bytes, &value, &info);
  if (status == ERS_OK) {
    printf("%.*s%s, %llu bytes\n", (int)ers_value_bytes(value),
           (const char*)ers_value_data(value), info.scheme,
           (unsigned long long)info.length);
  }
  ers_value_free(value);
  if (status != ERS_OK) return Fail("get", client);

  if (ShowBlocks(client) != 0) return 1;
  if (ers_delete(client, kKey, key_bytes) != ERS_OK) {
    return Fail("delete", client);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: store_and_read host:port,...\n");
    return 2;
  }
  char error[ERS_ERROR_BYTES];

  /* One cluster per process, one client per thread. */
  ers_cluster_options options;
  ers_cluster_options_init(&options);
  options.servers = argv[1];
  ers_cluster* cluster;
  if (ers_cluster_open(&options, &cluster, error, sizeof error) != ERS_OK) {
    fprintf(stderr, "cluster: %s\n", error);
    return 1;
  }
  ers_client_options client_options;
  ers_client_options_init(&client_options);
  client_options.inline_below = 0;
  ers_client* client;
  int exit_code = 1;
  if (ers_client_open(cluster, &client_options, &client, error, sizeof error) !=
      ERS_OK) {
    fprintf(stderr, "client: %s\n", error);
  } else {
    exit_code = Run(client);
    ers_client_close(client);
  }
  ers_cluster_close(cluster);
  return exit_code;
}
