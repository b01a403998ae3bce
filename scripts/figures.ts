import { readFile } from "node:fs/promises";
import { LIMITS, PLANS } from "@tidemill/contract";
import { SETTINGS } from "@tidemill/server";

/** A number that pages quote. In a phrase, `{}` stands for the number. */
export interface Figure {
  readonly value: number;
  /** Phrases of pages, by file. */
  readonly in: Readonly<Record<string, readonly string[]>>;
}

const SERVER = new URL("../packages/server/", import.meta.url);

/** Reads numbers from sources and migrations, and collects those that are not where they should be. */
class CodeReader {
  readonly #texts = new Map<string, Promise<string>>();
  readonly #missing: string[] = [];

  /** The number, or the product of numbers, that is the group of the pattern. */
  async number(file: string, pattern: RegExp): Promise<number> {
    const text = this.#texts.get(file) ?? readFile(new URL(file, SERVER), "utf8").catch(() => "");
    this.#texts.set(file, text);
    const [, product = ""] = pattern.exec(await text) ?? [];
    const value = product.split("*").reduce((all, factor) => all * Number(factor.replaceAll("_", "") || Number.NaN), 1);
    if (Number.isNaN(value)) this.#missing.push(`packages/server/${file} has no number by ${pattern}.`);
    return value;
  }

  /** A constant of a source file. */
  constant(file: string, name: string): Promise<number> {
    return this.number(`src/${file}`, new RegExp(`\\bconst ${name}(?:: number)? = ([\\d_.* ]+);`));
  }

  check(): void {
    if (this.#missing.length > 0) throw new Error(`${this.#missing.join("\n")}\nChange scripts/figures.ts.`);
  }
}

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

/** The numbers that pages quote, each with the place in the code that it comes from. */
export async function figures(): Promise<Figure[]> {
  const code = new CodeReader();
  const leaseSeconds = SETTINGS.nodeLeaseSeconds.fallback;
  const jitter = await code.constant("circuits/circuits.ts", "JITTER");
  const all: Figure[] = [
    // Circuits.
    {
      value: await code.constant("circuits/circuits.ts", "MAX_FAILURES"),
      in: {
        "CHANGELOG.md": ["failed {} times in a row"],
        "docs/api.md": ["After {} callbacks in a row"],
        "docs/architecture.md": ["After {} it opens the lane's circuit"],
        "docs/glossary.md": ["It opens after {} failures in a row"],
        "docs/operations.md": ["After {} failures in a row"],
        "docs/decisions/0012-circuits.md": ["after {} failures in a row the circuit", "After {} failures the statement"],
      },
    },
    { value: (await code.constant("circuits/circuits.ts", "FIRST_PROBE_MS")) / SECOND, in: { "docs/api.md": ["after {} second, then"] } },
    {
      value: ((await code.constant("circuits/circuits.ts", "MAX_PROBE_MS")) * (1 + jitter)) / SECOND,
      in: { "docs/api.md": ["growing waits of up to {} seconds"] },
    },
    {
      value: (await code.constant("circuits/circuits.ts", "MAX_HELD_MS")) / MINUTE,
      in: {
        "docs/api.md": ["by at most {} minutes"],
        "docs/decisions/0012-circuits.md": ["of at most {} minutes", "and at most {} minutes"],
      },
    },
    {
      value: await code.number("src/circuits/store.ts", /attempt_timeout_seconds \+ (\d+)\) \* interval '1 second'/),
      in: { "docs/decisions/0012-circuits.md": ["after `callback_timeout` and {} seconds"] },
    },
    // Secrets.
    {
      value: (2 * (await code.constant("vault/vault.ts", "FORGET_FORMS_EVERY_MS"))) / MINUTE,
      in: {
        "SECURITY.md": ["stay there for up to {} minutes"],
        "docs/decisions/0068-forms-of-values-are-kept.md": ["has used for {} minutes are forgotten", "for up to {} minutes after"],
      },
    },
    // Attempts and leases.
    {
      value: (await code.constant("engine/judge.ts", "MAX_WAIT_MS")) / HOUR,
      in: { "docs/architecture.md": ["at most {} hours. `n` is"] },
    },
    { value: (await code.constant("engine/judge.ts", "JITTER")) * 100, in: { "docs/architecture.md": ["plus up to {} % at random"] } },
    {
      value: leaseSeconds,
      in: {
        "docs/architecture.md": ["3 times in its length ({} s by default)"],
        "docs/operations.md": ["after its lease has expired: {} to"],
        "docs/decisions/0003-claims-by-node-lease.md": ["that expires {} seconds ahead", "up to {} seconds, and up to"],
      },
    },
    {
      value: leaseSeconds / 3,
      in: {
        "docs/decisions/0003-claims-by-node-lease.md": [
          "and is renewed every {}",
          "costs one row every {} seconds",
          "and up to {} more until",
        ],
        "docs/decisions/0018-one-poll.md": ["| node lease | a third of the lease: {} s", "| rescue | a third of the lease: {} s"],
      },
    },
    { value: leaseSeconds + leaseSeconds / 3, in: { "docs/operations.md": ["to {} seconds by default"] } },
    {
      value: leaseSeconds * (await code.constant("engine/leases/node-lease.ts", "TRUSTED_PART")),
      in: { "docs/decisions/0003-claims-by-node-lease.md": ["cut off from the database for {} seconds"] },
    },
    {
      value: await code.number("src/engine/leases/node-lease.ts", /leaseSeconds \* 1000\) \/ (\d+)/),
      in: { "docs/architecture.md": ["renews it {} times in its length"] },
    },
    {
      value: await code.constant("engine/rescue.ts", "MAX_LOSSES"),
      in: {
        "docs/architecture.md": ["lost with {} nodes in a row"],
        "docs/operations.md": ["After {} nodes in a row"],
        "docs/decisions/0016-lanes-leases-kinds.md": ["After {} lost nodes in a row"],
      },
    },
    {
      value: await code.constant("engine/rescue.ts", "MAX_ROWS"),
      in: { "docs/decisions/0003-claims-by-node-lease.md": ["statement per {} jobs"] },
    },
    {
      value: (await code.constant("engine/deliver.ts", "UNKNOWN_KIND_MS")) / SECOND,
      in: {
        "docs/architecture.md": ["unknown kind to other nodes for {} s"],
        "docs/decisions/0016-lanes-leases-kinds.md": ["postpones the job for {} s"],
      },
    },
    { value: await code.constant("engine/broadcast.ts", "COALESCE_MS"), in: { "docs/architecture.md": ["messages of the last {} ms"] } },
    // Jobs of all queues, and changes of many.
    {
      value: await code.constant("jobs/search.ts", "MAX_COUNTED_ROWS"),
      in: {
        "docs/api.md": ["It reads at most {} jobs. If there are more"],
        "docs/decisions/0038-many-jobs.md": ["is counted up to {} rows"],
      },
    },
    {
      value: await code.constant("operations/execute.ts", "PORTION"),
      in: { "docs/api.md": ["in the background, {} at a time"], "docs/decisions/0038-many-jobs.md": ["picks up to {} jobs"] },
    },
    { value: await code.constant("operations/start.ts", "MAX_RUNNING"), in: { "docs/api.md": ["at most {} operations that are running"] } },
    { value: LIMITS.operationIds, in: { "docs/api.md": ["or up to {} `ids`"] } },
    { value: await code.constant("dead-letters/groups-store.ts", "TREND_HOURS"), in: { "docs/api.md": ["in each of the last {} hours"] } },
    {
      value: await code.number("migrations/0026_dead_letter_groups.sql", /limit (\d+)\) g\) >=/),
      in: { "docs/api.md": ["has about {} groups at most"], "docs/decisions/0038-many-jobs.md": ["beyond {} of them"] },
    },
    {
      value: await code.number("migrations/0026_dead_letter_groups.sql", /left\(message, (\d+)\)/),
      in: { "docs/decisions/0038-many-jobs.md": ["is cut to {} characters"] },
    },
    // Lanes of a node.
    {
      value: await code.constant("engine/lane-shares.ts", "FIRST_WINDOW"),
      in: {
        "docs/flow-control.md": ["starts with {} on each node"],
        "docs/decisions/0006-lanes-share-a-node.md": ["with a window of {} attempts"],
      },
    },
    {
      value: await code.constant("engine/lane-shares.ts", "QUICK_WINDOW"),
      in: { "docs/decisions/0006-lanes-share-a-node.md": ["up to {}. Beyond"] },
    },
    {
      value: await code.constant("engine/lane-shares.ts", "STALL_STEP"),
      in: { "docs/decisions/0006-lanes-share-a-node.md": ["by {} at a time"] },
    },
    {
      value: (await code.constant("engine/lane-shares.ts", "MAX_PAYLOAD_A_CLAIM")) / MIB,
      in: { "docs/decisions/0006-lanes-share-a-node.md": ["about {} Mi to a workspace at most"] },
    },
    // Flow control.
    {
      value: await code.constant("jobs/store/claim.ts", "BUSY_RETRY_MS"),
      in: { "docs/decisions/0014-flow-control.md": ["asked again in {} ms"] },
    },
    {
      value: await code.constant("engine/assign-key-slots.ts", "MAX_JOBS"),
      in: {
        "docs/flow-control.md": ["for the first {} waiting jobs that may start"],
        "docs/decisions/0014-flow-control.md": ["may give {} jobs a slot"],
      },
    },
    {
      value: (await code.number("migrations/0006_jobs.sql", /hashtext\(k\.key\) & (\d+) as bucket/)) + 1,
      in: {
        "docs/sql.md": ["advisory transaction locks, {} per lane", "takes all {} of a lane"],
        "docs/decisions/0014-flow-control.md": ["is an advisory one**, {} to a lane", "one of its lane's {} locks"],
      },
    },
    {
      value:
        ((await code.number("migrations/0006_jobs.sql", /k\.lane_id & (\d+)\)::integer as lane/)) + 1) *
        ((await code.number("migrations/0006_jobs.sql", /hashtext\(k\.key\) & (\d+) as bucket/)) + 1),
      in: { "docs/sql.md": ["per lane and {} in all"], "docs/decisions/0014-flow-control.md": ["to a lane and {} in all"] },
    },
    {
      value: await code.number("migrations/0005_lanes.sql", /concurrency_per_key +integer not null default (\d+)/),
      in: { "docs/flow-control.md": ["at a time; the default is {}."] },
    },
    {
      value: await code.constant("explain/store.ts", "MAX_COUNTED"),
      in: { "docs/api.md": ["up to {} or as far as the queue's limits reach"], "docs/flow-control.md": ["It counts up to {}, or further"] },
    },
    {
      value: (await code.constant("explain/times.ts", "ABSOLUTE_FROM_MS")) / MINUTE,
      in: { "docs/api.md": ["From {} minute on, the moment"] },
    },
    // Approvals and schedules.
    {
      value: await code.constant("approvals/decide-overdue.ts", "MAX_JOBS"),
      in: {
        "docs/architecture.md": ["up to {} jobs per transaction"],
        "docs/flow-control.md": ["overdue jobs, up to {} in a transaction"],
        "docs/operations.md": ["up to {} in a transaction, and workspaces take turns"],
      },
    },
    {
      value: await code.constant("schedules/tick.ts", "MAX_SCHEDULES"),
      in: {
        "docs/architecture.md": ["locks up to {} due schedules per transaction"],
        "docs/operations.md": ["transaction fires up to {} schedules"],
      },
    },
    {
      value: await code.constant("schedules/tick.ts", "BURST"),
      in: {
        "docs/operations.md": ["When more than {} schedules are due"],
        "docs/decisions/0013-ticks.md": ["While more than {} schedules are due"],
      },
    },
    {
      value: (await code.constant("schedules/plan-ticks.ts", "ON_TIME_MS")) / SECOND,
      in: {
        "docs/api.md": ["oldest due tick is at most {} seconds late", "the newest if it is at most {} seconds late"],
        "docs/operations.md": [
          "downtime** of more than {} seconds",
          "when it is more than {} seconds late",
          "`tidemill_schedule_lateness_seconds` is near {}",
        ],
        "docs/decisions/0013-ticks.md": ["the oldest due tick is at most {} s late"],
      },
    },
    {
      value: await code.constant("schedules/plan-ticks.ts", "MAX_MISSED"),
      in: {
        "docs/api.md": ["all, but at most the newest {} |"],
        "docs/operations.md": ["at most {} per schedule"],
        "docs/decisions/0013-ticks.md": ["among all due ticks: the newest {}"],
      },
    },
    { value: await code.constant("schedules/run-routes.ts", "DEFAULT_COUNT"), in: { "docs/api.md": ["`count` 1 to 100, default {}"] } },
    { value: await code.constant("schedules/create.ts", "RANDOM_DIGITS"), in: { "docs/api.md": ["or with {} random digits"] } },
    // Requests.
    { value: await code.constant("http/paging.ts", "DEFAULT_LIMIT"), in: { "docs/api.md": ["`limit` is 1 to 100, default {}."] } },
    {
      value: LIMITS.batchJobs,
      in: { "docs/api.md": ["enqueue 1 to {} jobs", "A batch of {} jobs is one request"], "CHANGELOG.md": ["or up to {} at once"] },
    },
    { value: await code.constant("kernel/nearest.ts", "MAX_TYPOS"), in: { "docs/api.md": ["with at most {} typos"] } },
    {
      value: await code.constant("kernel/not-found.ts", "MAX_NAMES_COMPARED"),
      in: { "docs/api.md": ["from the {} names before", "and the {} names after"] },
    },
    { value: await code.constant("kernel/not-found.ts", "MAX_SHOWN"), in: { "docs/api.md": ["a path longer than {} characters"] } },
    {
      value: LIMITS.idempotencyKeyLength,
      in: { "docs/api.md": ["A key has 1 to {} characters"], "docs/flow-control.md": ["(`idempotencyKey`, 1 to {} characters"] },
    },
    {
      value: PLANS.free.limits.requests_per_minute ?? Number.NaN,
      in: { "docs/api.md": ["to all nodes together: Free {}, Pro"] },
    },
    { value: PLANS.pro.limits.requests_per_minute ?? Number.NaN, in: { "docs/api.md": ["Pro {}, Team"] } },
    { value: PLANS.team.limits.requests_per_minute ?? Number.NaN, in: { "docs/api.md": ["Team {}, or what the operator set"] } },
    {
      value: await code.constant("usage/recent-requests.ts", "SLOTS"),
      in: { "docs/decisions/0009-rate-limits.md": ["in each of the last {} half seconds"] },
    },
    {
      value:
        ((await code.constant("usage/recent-requests.ts", "SLOTS")) * (await code.constant("usage/recent-requests.ts", "SLOT_MS"))) /
        SECOND,
      in: {
        "docs/api.md": ["to {} seconds later"],
        "docs/decisions/0009-rate-limits.md": ["to {} seconds later", "by more than {} seconds"],
      },
    },
    {
      value:
        (((await code.constant("usage/recent-requests.ts", "SLOTS")) - 1) * (await code.constant("usage/recent-requests.ts", "SLOT_MS"))) /
        SECOND,
      in: {
        "docs/api.md": ["is free again {} to"],
        "docs/decisions/0009-rate-limits.md": ["at least {} seconds: 60", "is free again {} to"],
      },
    },
    {
      value: await code.constant("workspaces/find-principal.ts", "CACHE_MS"),
      in: { "docs/architecture.md": ["plan and limits, for {} ms"] },
    },
    // Upkeep.
    {
      value: (await code.constant("usage/usage.ts", "FOLD_MS")) / SECOND,
      in: {
        "docs/architecture.md": ["Every {} s a loop folds"],
        "docs/decisions/0018-one-poll.md": ["| fold usage and counts, fold tally | {} s,"],
      },
    },
    {
      value: (await code.number("src/jobs/jobs.ts", /loop\("fold-tally", ([\d_]+)/)) / SECOND,
      in: { "docs/decisions/0018-one-poll.md": ["fold usage and counts, fold tally | 5 s, {} s"] },
    },
    {
      value: (await code.number("src/retention/retention.ts", /loop\("sweep-lanes", ([\d_]+)/)) / SECOND,
      in: { "docs/decisions/0018-one-poll.md": ["idempotency keys | {} s,"] },
    },
    {
      value: (await code.number("src/retention/retention.ts", /loop\("sweep-workspaces", ([\d_]+)/)) / SECOND,
      in: { "docs/decisions/0018-one-poll.md": ["idempotency keys | 15 s, {} s,"] },
    },
    {
      value: (await code.number("src/jobs/jobs.ts", /loop\("sweep-idempotency-keys", ([\d_]+)/)) / SECOND,
      in: { "docs/decisions/0018-one-poll.md": ["idempotency keys | 15 s, 60 s, {} s"] },
    },
    {
      value: (await code.constant("workspaces/workspaces.ts", "WRITE_USES_MS")) / SECOND,
      in: { "docs/decisions/0018-one-poll.md": ["when keys were last used | {} s"] },
    },
    {
      value: await code.constant("retention/partitions.ts", "MIN_MONTHS_AHEAD"),
      in: { "docs/operations.md": ["at least {} months"] },
    },
    {
      value: await code.constant("retention/partitions.ts", "MAX_MONTHS_AHEAD"),
      in: { "docs/operations.md": ["at most {}."] },
    },
    {
      value: await code.constant("retention/partitions.ts", "MAX_MOVED_ROWS"),
      in: { "docs/operations.md": ["more than {} such rows"] },
    },
    {
      value: (await code.constant("retention/partitions.ts", "MAX_MOVED_BYTES")) / MIB,
      in: { "docs/operations.md": ["or {} MiB of them"] },
    },
    {
      value: (await code.constant("retention/partitions.ts", "MAX_READ_BYTES")) / MIB,
      in: { "docs/operations.md": ["partition is larger than {} MiB"] },
    },
    { value: await code.number("src/usage/fold.ts", /interval '(\d+) months'/), in: { "docs/tenants.md": ["and usage for {} months"] } },
    {
      value: (await code.constant("kernel/database/embedded/files.ts", "MAX_LOG_BYTES")) / MIB,
      in: { "docs/operations.md": ["finds it larger than {} MiB"] },
    },
    {
      value: SETTINGS.databaseConnections.fallback,
      in: {
        "docs/operations.md": ["connections, {} by default"],
      },
    },
    { value: await code.constant("databases.ts", "LISTEN_CONNECTIONS"), in: { "docs/operations.md": ["by default: {} listens"] } },
    { value: await code.constant("databases.ts", "LEASE_CONNECTIONS"), in: { "docs/operations.md": ["{} renews the lease"] } },
    { value: await code.constant("databases.ts", "ENGINE_CONNECTIONS"), in: { "docs/operations.md": ["{} are for the engine"] } },
    // Upgrades.
    {
      value: (await code.constant("kernel/database/migrate.ts", "FIRST_WAIT_MS")) / 1000,
      in: { "docs/operations.md": ["for each lock: {} s first"] },
    },
    {
      value: (await code.constant("kernel/database/migrate.ts", "MAX_WAIT_MS")) / 1000,
      in: { "docs/operations.md": ["with each try, up to {} s"] },
    },
    {
      value: await code.constant("kernel/database/migrate.ts", "PAUSE_PER_TRY"),
      in: { "docs/operations.md": ["pauses for {} times as long"] },
    },
    // Callbacks and secrets.
    {
      value: LIMITS.resultBytes / KIB,
      in: {
        "docs/api.md": ["a JSON body of at most {} KiB is kept", "this makes it longer than {} KiB"],
        "SECURITY.md": ["headers, {} KiB of body that are kept"],
      },
    },
    {
      value: (await code.constant("outbound/response-limiter.ts", "MAX_HEAD_BYTES")) / KIB,
      in: { "docs/api.md": ["lines and {} KiB of headers"], "SECURITY.md": ["is limited: {} KiB and"] },
    },
    {
      value: await code.constant("outbound/response-limiter.ts", "MAX_HEAD_LINES"),
      in: { "docs/api.md": ["may have at most {} lines"], "SECURITY.md": ["and {} lines of headers"] },
    },
    {
      value: await code.constant("outbound/response-limiter.ts", "MAX_PIECES"),
      in: { "docs/api.md": ["and at most {} chunks at once"] },
    },
    {
      value:
        (await code.constant("outbound/response-limiter.ts", "SLICE_BYTES")) /
        (await code.constant("outbound/response-limiter.ts", "PIECES_PER_SLICE")),
      in: { "docs/api.md": ["smaller than {} bytes"] },
    },
    {
      value: (await code.constant("outbound/response-limiter.ts", "MAX_EXTRA_BYTES")) / KIB,
      in: { "SECURITY.md": ["and {} KiB of trailers"] },
    },
    {
      value: (await code.constant("outbound/response-reader.ts", "MAX_DRAINED_BYTES")) / KIB,
      in: { "SECURITY.md": ["{} KiB that are read at all"] },
    },
    {
      value: LIMITS.templateGrowthBytes / KIB,
      in: { "docs/api.md": ["may add at most {} KiB"], "docs/decisions/0011-secrets.md": ["is limited** to {} KiB per callback"] },
    },
    {
      value: LIMITS.secretBytes / KIB,
      in: { "docs/api.md": ["1 byte to {} KiB of text"], "docs/decisions/0011-secrets.md": ["can name a secret of {} KiB"] },
    },
    { value: LIMITS.secretNameLength, in: { "docs/api.md": ["`[A-Z][A-Z0-9_]*`, at most {} characters"] } },
    {
      value: await code.constant("vault/secret.ts", "MAX_HINT_CHARACTERS"),
      in: { "docs/api.md": ["the first characters, at most {}"], "SECURITY.md": ["the first characters: at most {}, and"] },
    },
    {
      value: await code.constant("people/password.ts", "MAX_WAITING"),
      in: { "docs/people.md": ["When {} requests wait"], "docs/decisions/0043-safety-of-accounts.md": ["The queue has {} places"] },
    },
    {
      value: (await code.constant("people/sessions/cookie.ts", "DEVICE_SECONDS")) / 86_400,
      in: { "docs/people.md": ["is known for {} days"] },
    },
    {
      value: await code.number("src/people/sessions/throttle.ts", /takenAddressBy: \{ tries: (\d+)/),
      in: { "docs/people.md": ["together accept {} a day"] },
    },
    {
      value: (await code.constant("callbacks/postponement.ts", "POSTPONE_MS")) / SECOND,
      in: { "docs/decisions/0011-secrets.md": ["the job waits {} more seconds"] },
    },
  ];
  code.check();
  return all;
}

const NUMBER = String.raw`(\d+(?:,\d{3})*(?:\.\d+)?)`;

/** A phrase as it is looked for: with any number, and broken into lines anywhere. */
function patternOf(phrase: string): RegExp {
  const escaped = phrase.replace(/[\\^$.*+?()[\]|]/g, "\\$&").replaceAll(" ", String.raw`\s+`);
  return new RegExp(escaped.replace("{}", NUMBER), "dg");
}

const show = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 2 });

/** A page with its figures as the code has them. Throws when the page does not have a phrase. */
export function writeFigures(file: string, text: string, all: readonly Figure[]): string {
  let fresh = text;
  for (const { value, in: pages } of all) {
    for (const phrase of pages[file] ?? []) {
      const places = [...fresh.matchAll(patternOf(phrase))];
      if (places.length === 0) throw new Error(`${file} does not say "${phrase}" any more. Change scripts/figures.ts.`);
      for (const place of places.toReversed()) {
        const [start, end] = place.indices?.[1] ?? [0, 0];
        fresh = fresh.slice(0, start) + show(value) + fresh.slice(end);
      }
    }
  }
  return fresh;
}

/** The files that have figures. */
export const filesWithFigures = (all: readonly Figure[]): string[] =>
  [...new Set(all.flatMap(({ in: pages }) => Object.keys(pages)))].toSorted();
