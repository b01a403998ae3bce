/* What the command line, the demo and the benchmarks use from the server. */

export { decideJob, listPending } from "#approvals";
export { type ChainReport, type NotedHead, verifyAuditAcrossWorkspaces } from "#audit";
export { Broadcaster, countNodes, countNodesWithout, findNodeUrl, listNodesAcrossWorkspaces, type Message } from "#engine";
export { explainJob } from "#explain";
export { type JobRow, type Ruling, readJobId, showJob, showJobId } from "#jobs";
export {
  type Config,
  ConfigError,
  type ConnectionLimit,
  cutPage,
  type Database,
  DatabaseClock,
  type DatabaseFacts,
  describeConfig,
  describeUnknownSettings,
  Events,
  ensureSchema,
  inspectDatabase,
  isUndefined,
  type JobId,
  judgeRoom,
  listMigrations,
  logEvents,
  migrate,
  momentMs,
  type PageRow,
  type PersonId,
  readConfig,
  readConnectionLimits,
  readFileLimit,
  readSchemaState,
  type SchemaState,
  SETTINGS,
  systemRandom,
  toMoment,
  typeId,
  type Uuid,
  type WorkspaceId,
} from "#kernel";
export { queueNotFound } from "#lanes";
export {
  addPerson,
  changeOperator,
  listEventsOf,
  listInvitations,
  listPeople,
  makeSetupLink,
  readPublicUrl,
  removePerson,
  resetPerson,
  revokeInvitation,
  showAccountEvent,
  showInvitation,
} from "#people";
export { findQueue, type Queue } from "#queues";
export { Calendars, listSchedules, type Schedule, type ScheduleId } from "#schedules";
export { countByKeyAcrossWorkspaces, findVaultKey, type GivenUpKey, giveUpKey, Keyring, type Rotation, rotateMasterKey } from "#vault";
export {
  type AdminContext,
  createAdminContext,
  createKey,
  createWorkspace,
  deleteWorkspace,
  findWorkspace,
  listAcrossWorkspaces,
  listKeys,
  OPERATOR,
  patchWorkspace,
  readKeyId,
  readWorkspaceId,
  revokeKey,
  showKey,
  showWorkspace,
  workspaceNotFound,
} from "#workspaces";
export { type OpenDatabases, openDatabases } from "./databases.ts";
export { emptyWorkspace } from "./empty-workspace.ts";
export { type Node, type Replacements, startNode } from "./start-node.ts";
export { VERSION } from "./version.ts";
