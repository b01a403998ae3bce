/** What the server is started with: a small machine that runs a job queue, durably. */
const SETTINGS: Readonly<Record<string, string>> = {
  // Only the socket: no port to guard, none to collide with.
  listen_addresses: "",
  port: "5432",
  unix_socket_permissions: "0700",
  cluster_name: "tidemill",
  max_connections: "100",

  // What was acknowledged is on disk, whatever a configuration file says.
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",

  // Holds the live table of a busy queue; memory is taken page by page, as it is used.
  shared_buffers: "128MB",
  // Tells the planner of the system's cache; the default of 4 GB is more than a small machine has.
  effective_cache_size: "512MB",
  // Solid state: an index is worth it sooner than the default thinks.
  random_page_cost: "1.1",
  // Everything hot is cached: three processes that wait for reads would be memory for nothing.
  io_method: "sync",
  // Statements are short and cores few: a second process, or compiling, costs more than it gains.
  max_parallel_workers_per_gather: "0",
  jit: "off",
  // Files of its own, not /dev/shm: containers keep that small, and systemd empties it when its user logs out.
  dynamic_shared_memory_type: "mmap",
  // No launcher process for subscriptions, which nobody makes here.
  max_logical_replication_workers: "0",

  // Checkpoints by time, not by volume: each makes the next change of every page write that page whole.
  checkpoint_timeout: "15min",
  max_wal_size: "3GB",
  // Whole pages are most of the WAL and compress well; this build has no lz4.
  wal_compression: "pglz",

  // The live table dies and is born anew all the time; look often, and let a vacuum get done.
  autovacuum_naptime: "5s",
  autovacuum_vacuum_cost_limit: "1000",

  timezone: "UTC",
  log_timezone: "UTC",
  log_min_messages: "warning",
  log_checkpoints: "off",
  // Details quote rows, and rows hold what customers sent.
  log_error_verbosity: "terse",
};

/** On a Mac, fsync leaves data in the drive's own cache; this does not. */
const ON_DARWIN = { wal_sync_method: "fsync_writethrough" };

/** The arguments of `postgres`; `extra` wins over what is set here, but for where the socket is. */
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
