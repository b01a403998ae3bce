/** Settings of the server, for a durable job queue on a small machine. */
const SETTINGS: Readonly<Record<string, string>> = {
  // Only the socket: a port would need protection, and could be in use.
  listen_addresses: "",
  port: "5432",
  unix_socket_permissions: "0700",
  cluster_name: "tidemill",
  max_connections: "100",

  // Acknowledged data is on disk, whatever a configuration file says.
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",

  // Large enough for the job table of a busy queue. Memory is only allocated when it is used.
  shared_buffers: "128MB",
  // The planner's estimate of the system's cache. The default of 4 GB is more than a small machine has.
  effective_cache_size: "512MB",
  // For solid-state disks. The default is for spinning disks and makes indexes look too expensive.
  random_page_cost: "1.1",
  // Hot data is cached, so the three I/O worker processes of the default would only use memory.
  io_method: "sync",
  // Statements are short and cores are few: parallel workers and JIT compilation cost more than they gain.
  max_parallel_workers_per_gather: "0",
  jit: "off",
  // Not in /dev/shm, which is small in containers, and which systemd empties when the user logs out.
  dynamic_shared_memory_type: "mmap",
  // No launcher process for logical replication, which is not used.
  max_logical_replication_workers: "0",

  // Rare checkpoints, by time rather than by volume: after each, the first change of a page writes the whole page to the WAL.
  checkpoint_timeout: "15min",
  max_wal_size: "3GB",
  // Whole pages are most of the WAL and compress well. This build has no lz4.
  wal_compression: "pglz",

  // The rows of the job table are replaced all the time, so autovacuum must run often and fast.
  autovacuum_naptime: "5s",
  autovacuum_vacuum_cost_limit: "1000",

  timezone: "UTC",
  log_timezone: "UTC",
  log_min_messages: "warning",
  log_checkpoints: "off",
  // Error details quote rows, and rows contain data of tenants.
  log_error_verbosity: "terse",
};

/** On macOS, fsync leaves data in the drive's cache. This does not. */
const ON_DARWIN = { wal_sync_method: "fsync_writethrough" };

/** The arguments of `postgres`. `extra` overrides all settings except the directory of the socket. */
export function serverArguments(cluster: string, sockets: string, extra: Readonly<Record<string, string>>): string[] {
  const quoted = `"${sockets.replaceAll('"', '""')}"`;
  const settings = {
    ...SETTINGS,
    ...(process.platform === "darwin" && ON_DARWIN),
    ...extra,
    unix_socket_directories: quoted,
  };
  return ["-D", cluster, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
