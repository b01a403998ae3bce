export { type QueueOptions, Tidemill } from "./client.ts";
export { TidemillError, type TidemillErrorCode } from "./error.ts";
export type { EnqueuedJob, EnqueueOptions, Job, JobWithLog, NewJob } from "./job.ts";
export type { CallOptions, TidemillOptions } from "./options.ts";
export type { List, Page } from "./page.ts";
export type { Queue } from "./queue.ts";
export type { StandardSchema } from "./schema.ts";
export type { FetchRequest, RawRequest } from "./verify/request.ts";
export { type Callback, InvalidSignatureError, verifyCallback } from "./verify/verify-callback.ts";
