import type { Reply } from "./ask.ts";
import type { Service } from "./service.ts";

interface Named {
  readonly id: string;
  readonly queue: string;
}

/** Makes an approval queue that calls nobody, unless `settings` say otherwise. Answers its name. */
export const approvalQueue = (service: Service, settings: Record<string, unknown> = {}): Promise<string> =>
  service.queue({ type: "approval", ...settings });

export const approve = (service: Service, { queue, id }: Named, body?: unknown): Promise<Reply> =>
  service.api("POST", `/v1/queues/${queue}/jobs/${id}/approve`, body);

export const reject = (service: Service, { queue, id }: Named, body?: unknown): Promise<Reply> =>
  service.api("POST", `/v1/queues/${queue}/jobs/${id}/reject`, body);

/** What a call on a job that has been decided, or never waited for that, is told. */
export const INVALID = (state: string) => ({ code: "INVALID_STATE", details: { state, allowed_from: ["pending_approval"] } });
