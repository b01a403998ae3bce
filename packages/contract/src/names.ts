import { Type } from "typebox";
import { LIMITS } from "./limits.ts";

/** The pattern of names of queues and schedules. */
export const NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";

export const QueueName = Type.String({
  title: "QueueName",
  pattern: NAME,
  description: "Name of a queue, unique in the workspace.",
  examples: ["emails"],
});

/** The pattern of names of events. Source: specification, Workflow behavior 5. */
export const EVENT_NAME = "^[a-z0-9_]+(\\.[a-z0-9_]+)*$";

export const EventName = Type.String({
  title: "EventName",
  pattern: EVENT_NAME,
  maxLength: LIMITS.eventNameLength,
  description: "Name of an event: lower-case letters, digits and underscores, in parts separated by dots.",
  examples: ["user.created"],
});

export const Tag = Type.String({
  title: "Tag",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.tagLength,
  description: "A label of the caller's choice, to filter jobs by.",
  examples: ["welcome"],
});

export const ConcurrencyKey = Type.String({
  title: "ConcurrencyKey",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.concurrencyKeyLength,
  description: "Jobs of the queue with the same key share its `concurrency_per_key`: with 1, they run one after another.",
  examples: ["customer-1815"],
});

/** Filters that several lists share. */
export const QueueFilter = Type.String({
  title: "QueueFilter",
  format: "storable",
  description: "Only records of this queue, or of several, separated by commas.",
  examples: ["emails"],
});

export const TagFilter = Type.String({
  title: "TagFilter",
  format: "storable",
  description: "Only jobs with this tag, or with one of several, separated by commas.",
  examples: ["welcome"],
});

/** Ids of signals are parts of paths, where `.` and `..` would lead to another path. */
export const SIGNAL_ID = "^(?!\\.{1,2}$)";
