import type { Reply } from "./ask.ts";
import type { Service } from "./service.ts";

interface Named {
  readonly id: string;
  readonly queue: string;
}

/** Creates an approval queue, without a callback unless `settings` have one. Returns its name. */
export const approvalQueue = (service: Service, settings: Record<string, unknown> = {}): Promise<string> =>
  service.queue({ type: "approval", ...settings });

export const approve = (service: Service, { queue, id }: Named, body?: unknown): Promise<Reply> =>
  service.api("POST", `/v1/queues/${queue}/jobs/${id}/approve`, body);

export const reject = (service: Service, { queue, id }: Named, body?: unknown): Promise<Reply> =>
  service.api("POST", `/v1/queues/${queue}/jobs/${id}/reject`, body);

/** The error when a job is not pending approval: it was decided before, or never needed approval. */
export const INVALID = (state: string) => ({ code: "INVALID_STATE", details: { state, allowed_from: ["pending_approval"] } });
