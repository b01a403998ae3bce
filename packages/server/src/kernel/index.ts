export * from "./address-range.ts";
export * from "./after.ts";
export * from "./batcher.ts";
export * from "./changes.ts";
export * from "./clock.ts";
export * from "./config.ts";
export * from "./cut.ts";
export * from "./database/arrays.ts";
export * from "./database/connection-limits.ts";
export * from "./database/inspect.ts";
export * from "./database/listen.ts";
export * from "./database/lock.ts";
export * from "./database/migrate.ts";
export * from "./database/page.ts";
export {
  type Connection,
  Database,
  isDuplicate,
  isLockTimeout,
  isRefused,
  isRolledBack,
  isTimeout,
  isUndefined,
  type Timestamp,
  type Transactional,
  toRfc3339,
} from "./database/pool.ts";
export { PoolGroup } from "./database/pool-group.ts";
export * from "./database/refused-writes.ts";
export { listMigrations, readSchemaState, type SchemaState } from "./database/schema-state.ts";
export * from "./database/serial-database.ts";
export * from "./database/sql.ts";
export * from "./database/tenants.ts";
export * from "./database/tls.ts";
export * from "./deadline-loop.ts";
export * from "./due-poll.ts";
export * from "./event-catalogue.ts";
export { RECENT_MS, stalls } from "./event-loop-stalls.ts";
export * from "./events.ts";
export * from "./fair-queue.ts";
export * from "./file-limit.ts";
export * from "./files.ts";
export * from "./heap-growth.ts";
export * from "./ids.ts";
export * from "./json/canonical.ts";
export * from "./json/depth.ts";
export * from "./json/json-parts.ts";
export * from "./json/pauses.ts";
export * from "./json/syntax-error.ts";
export * from "./json/tokens.ts";
export * from "./json/value-end.ts";
export * from "./key-bytes.ts";
export type { LockWaits } from "./lock-waits.ts";
export * from "./log.ts";
export * from "./loop-delay.ts";
export * from "./metrics.ts";
export * from "./nearest.ts";
export * from "./not-found.ts";
export * from "./periodic-loop.ts";
export * from "./periodic-report.ts";
export * from "./problem.ts";
export * from "./random.ts";
export * from "./repeated-failures.ts";
export * from "./round-robin-loop.ts";
export * from "./service.ts";
export * from "./shared-reads.ts";
export * from "./shares/fair-share.ts";
export * from "./shares/loop-time.ts";
export * from "./shares/memory.ts";
export * from "./shares/observe.ts";
export * from "./shares/resources.ts";
export * from "./shares/round-robin-queue.ts";
export * from "./shares/shared-cache.ts";
export * from "./shares/shared-resource.ts";
export * from "./shares/shares.ts";
export * from "./slow-retries.ts";
export * from "./stall-tolerant-timeout.ts";
export * from "./system-error.ts";
export * from "./tolerate.ts";
export * from "./write-batch-or-each.ts";
