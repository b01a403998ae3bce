import type { JobKind } from "#engine";
import type { Module } from "#http";
import {
  type Config,
  type Database,
  DeadlineLoop,
  type EmitEvent,
  fragment,
  type LockWaits,
  PeriodicLoop,
  type Random,
  type Shares,
  type Transactional,
} from "#kernel";
import type { LaneId } from "#lanes";
import { type AddressGuard, type HostsInUse, type Names, type OwnPorts, Sender } from "#outbound";
import type { SecretAccess } from "#vault";
import { WebhookDeliverer } from "./deliverer.ts";
import { mountDeliveries } from "./delivery-routes.ts";
import { disableFailingAcrossWorkspaces } from "./disable-failing.ts";
import { endDeliveriesAcrossWorkspaces } from "./end-deliveries.ts";
import { webhookEndpoints } from "./endpoint.ts";
import { endOverdueAcrossWorkspaces, sweepWebhookEventsAcrossWorkspaces } from "./expire.ts";
import { TRIED_FOR } from "./expiry-store.ts";
import { webhookKind } from "./kind.ts";
import { deliveriesAcrossWorkspaces } from "./make-deliveries.ts";
import { mountWebhooks, type WebhookRoutes } from "./routes.ts";
import { unwantedDeliveries } from "./unwanted-deliveries.ts";

const HOUR_MS = 3_600_000;

export interface WebhookSenderOptions {
  readonly engine: Database;
  readonly guard: AddressGuard;
  readonly names: Names;
  readonly hosts: HostsInUse;
  readonly ownPorts: OwnPorts;
  readonly secrets: SecretAccess;
  readonly shares: Shares;
  readonly clock: WebhookRoutes["clock"];
  readonly version: string;
  readonly emit: EmitEvent;
}

/** What sends events to webhooks. */
export function createWebhookSender({
  engine,
  guard,
  names,
  hosts,
  ownPorts,
  secrets,
  shares,
  clock,
  version,
  emit,
}: WebhookSenderOptions): Module & { readonly kind: JobKind } {
  const sender = new Sender(guard, ownPorts);
  const endpoints = webhookEndpoints(engine, guard);
  const unwanted = unwantedDeliveries(engine);
  const deliverer = new WebhookDeliverer({ sender, endpoints, unwanted, names, hosts, secrets, shares, clock, version, emit });
  return { kind: webhookKind(deliverer), services: [{ start: () => {}, stop: () => sender.close() }] };
}

export interface WebhooksOptions extends WebhookRoutes {
  readonly config: Config;
  readonly engine: Transactional;
  readonly lockWaits: LockWaits;
  readonly housekeeping: Transactional;
}

/** Webhooks: their endpoints, and the loops that make, end and delete deliveries. */
export function createWebhooks({ config, engine, lockWaits, housekeeping, ...routes }: WebhooksOptions): Module {
  const { clock, random, ids, audit, waker, aborter, emit } = routes;
  const loop = (name: string, pass: () => Promise<number | undefined>) =>
    new DeadlineLoop({ name, horizonMs: config.pollEveryMs, pass }, clock, emit, random as Random);
  const turns = deliveriesAcrossWorkspaces({ db: engine, ids, clock, lockWaits, emit, waker });
  const sending = loop("webhooks", () => turns.round());
  const overdue = loop("webhooks-overdue", () => endOverdueAcrossWorkspaces(engine));
  const failedToDisable = new Set<LaneId>();
  const failing = loop("webhooks-failing", () =>
    disableFailingAcrossWorkspaces({ db: engine, audit, aborter, emit, failed: failedToDisable }),
  );
  const failedToCancel = new Set<LaneId>();
  const cancelling = loop("webhooks-cancelling", () =>
    endDeliveriesAcrossWorkspaces({ db: engine, aborter, emit, failed: failedToCancel }),
  );
  const sweep = { name: "sweep-webhook-events", everyMs: HOUR_MS, pass: () => sweepWebhookEventsAcrossWorkspaces(housekeeping) };
  return {
    routes: (api) => {
      mountWebhooks(api, routes);
      mountDeliveries(api, routes);
    },
    services: [turns, sending, overdue, failing, cancelling, new PeriodicLoop(sweep, emit, random)],
    due: [
      { loop: sending, nextDue: fragment`select at from event_outbox order by id limit 1` },
      {
        loop: overdue,
        nextDue: fragment`select created_at + ${TRIED_FOR} from webhook_delivery where state = 'pending' order by state, created_at limit 1`,
      },
      {
        loop: failing,
        nextDue: fragment`
          select failing_since + interval '5 days' from webhook
          where failing_since is not null and disabled_at is null order by failing_since limit 1`,
      },
      {
        loop: cancelling,
        nextDue: fragment`select disabled_at from webhook where cancelling and disabled_at is not null order by disabled_at limit 1`,
      },
    ],
  };
}
