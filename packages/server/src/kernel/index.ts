export * from "./address-range.ts";
export * from "./batcher.ts";
export * from "./clock.ts";
export * from "./clockwork.ts";
export * from "./config.ts";
export * from "./database/listen.ts";
export * from "./database/lock.ts";
export * from "./database/migrate.ts";
export {
  type Connection,
  Database,
  isRefused,
  isTimeout,
  type Timestamp,
  type Transactional,
  toRfc3339,
} from "./database/pool.ts";
export * from "./database/sql.ts";
export * from "./database/tenants.ts";
export * from "./events.ts";
export * from "./files.ts";
export * from "./ids.ts";
export * from "./key-bytes.ts";
export * from "./log.ts";
export * from "./loop.ts";
export * from "./metrics.ts";
export * from "./nearest.ts";
export * from "./not-found.ts";
export * from "./problem.ts";
export * from "./random.ts";
export * from "./shared-reads.ts";
export * from "./system-error.ts";
export * from "./tolerate.ts";
