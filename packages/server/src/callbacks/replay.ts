import type { SignedCallback } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { findJob, type JobKey, type JobRow, jobNotFound, showDelivered, showJobId } from "#jobs";
import { type Clock, problem, type Transactional } from "#kernel";
import { sign, signingKey } from "#outbound";
import { findQueueOfLane, type Queue } from "#queues";
import { signedHeaders } from "./signed-request.ts";

export interface ReplayDeps {
  readonly audit: AuditLog;
  readonly clock: Clock;
  /** The version of the service. */
  readonly version: string;
}

/**
 * The request that a handler of the queue would get for a job, signed now. Templates stay as they are, so that it contains no secret. The
 * job does not change. The request is audited.
 *
 * @throws NOT_FOUND for the job, INVALID_STATE for a queue without a callback secret
 */
export async function replayJob(
  database: Transactional,
  { audit, clock, version }: ReplayDeps,
  { actorId }: Pick<Actor, "actorId">,
  key: JobKey,
  queueName: string,
): Promise<SignedCallback> {
  const job = await findJob(database, key);
  if (!job) throw jobNotFound(key.id, queueName);
  const queue = await findQueueOfLane(database, key.workspaceId, key.laneId);
  if (!queue || queue.callback_secret === null) throw cannotSign(queueName);
  const resourceId = showJobId(key.id);
  await database.transaction((tx) =>
    audit.record(tx, {
      workspaceId: key.workspaceId,
      eventType: "job.replayed",
      actorId,
      resourceType: "job",
      resourceId,
      input: { queue: queueName },
      output: null,
    }),
  );
  return signed(job, { queue, secret: queue.callback_secret }, { id: resourceId, timestamp: Math.floor(clock.nowMs() / 1000), version });
}

function signed(
  job: JobRow,
  { queue, secret }: { queue: Queue; secret: string },
  { id, timestamp, version }: { id: string; timestamp: number; version: string },
): SignedCallback {
  // A job that has not started is shown as on its first attempt.
  const attempt = Math.max(job.attempt, 1);
  const { created_at: createdAt, scheduled_for: scheduledFor } = job;
  const body = showDelivered({ ...job, attempt, createdAt, scheduledFor }, id, queue.name, job.payload).join("");
  const signature = sign(signingKey(secret), id, timestamp, Buffer.from(body));
  const own = JSON.parse(queue.callback_headers) as Record<string, string>;
  return { headers: { ...own, ...signedHeaders({ id, attempt, timestamp, signature, version }) }, body };
}

const cannotSign = (queue: string) =>
  problem(
    "INVALID_STATE",
    { queue },
    { message: `The queue "${queue}" has no callback secret to sign with. It gets one when its callback_url is set.` },
  );
