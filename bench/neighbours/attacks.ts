import type { Attack } from "./attack.ts";
import { answersWithSecrets } from "./attacks/answers-with-secrets.ts";
import { auditedAttempts } from "./attacks/audited-attempts.ts";
import { batches } from "./attacks/batches.ts";
import { costlyBodies } from "./attacks/costly-bodies.ts";
import { dueAtOnce } from "./attacks/due-at-once.ts";
import { hangingPayloads } from "./attacks/hanging-payloads.ts";
import { hangingQueues } from "./attacks/hanging-queues.ts";
import { idleConnections } from "./attacks/idle-connections.ts";
import { longJournals } from "./attacks/long-journals.ts";
import { manySecrets } from "./attacks/many-secrets.ts";
import { silentNames } from "./attacks/silent-names.ts";
import { stalledBodies } from "./attacks/stalled-bodies.ts";
import { unreadReplies } from "./attacks/unread-replies.ts";
import { unservedQueues } from "./attacks/unserved-queues.ts";
import { wideScans } from "./attacks/wide-scans.ts";

export const ATTACKS: readonly Attack[] = [
  hangingPayloads,
  silentNames,
  unreadReplies,
  costlyBodies,
  answersWithSecrets,
  hangingQueues,
  manySecrets,
  wideScans,
  batches,
  stalledBodies,
  idleConnections,
  auditedAttempts,
  dueAtOnce,
  unservedQueues,
  longJournals,
];
