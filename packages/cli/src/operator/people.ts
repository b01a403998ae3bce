import { hostname } from "node:os";
import { PERSON_ROLES, type PersonRole } from "@tidemill/contract";
import {
  addPerson,
  type Config,
  changeOperator,
  type Database,
  findNodeUrl,
  listEventsOf,
  listPeople,
  makeSetupLink,
  OPERATOR,
  type PersonId,
  readPublicUrl,
  removePerson,
  resetPerson,
  showAccountEvent,
  typeId,
  type Uuid,
} from "@tidemill/server";
import { printJson, printRecord, printTable } from "../output/table.ts";
import { notifyNodes } from "./notify-nodes.ts";
import { readAllPages } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

interface Json {
  readonly json?: boolean;
}

const COLUMNS = ["id", "name", "email", "verified", "operator", "workspaces", "created_at"];
const EVENT_COLUMNS = ["occurred_at", "event_type", "actor_id", "address", "user_agent", "detail"];
const MAIL_ADDRESS = /^[^\s@<>]+@[^\s@<>]+$/;

/** `tidemill people list`: lists all people, the newest first. */
export const listPeopleCommand = ({ json }: Json): Promise<void> =>
  withDatabase(async ({ api }) => {
    const found = await readAllPages((before: PersonId | null, limit) => listPeople(api, before, limit));
    const people = found.map(({ id, ...person }) => ({ id: typeId("usr", id), ...person }));
    if (json) printJson(people);
    else printTable(people, COLUMNS);
  });

/** `tidemill people add`: makes a person, or gives one a place in a workspace. */
export async function addPersonCommand(
  email: string,
  { name, workspace, role, operator = false, json }: Json & { name?: string; workspace?: string; role: string; operator?: boolean },
): Promise<void> {
  if (!MAIL_ADDRESS.test(email)) throw new Error(`"${email}" is not a mail address.`);
  if (!PERSON_ROLES.includes(role as PersonRole)) throw new Error(`The role must be one of ${PERSON_ROLES.join(", ")}.`);
  const workspaceId = workspace === undefined ? null : parseWorkspaceId(workspace);
  await withDatabase(async ({ api }, adminContext, config) => {
    const terms = { name: name ?? email, email, operator, workspaceId, role: role as PersonRole };
    const { id, url } = await addPerson(api, { ...adminContext, ...(await addressesOf(api, config)) }, terms);
    printRecord({ id, email, ...(url === null ? {} : { set_password_at: url }) }, json);
  });
}

/** `tidemill people reset`: takes away how a person signs in, and prints a link to set a new password. */
export const resetPersonCommand = (email: string, { json }: Json): Promise<void> =>
  withDatabase(async (databases, adminContext, config) => {
    const reset = await resetPerson(databases.api, { ...adminContext, ...(await addressesOf(databases.api, config)) }, email);
    if (reset === null) throw nobody(email);
    await notifyNodes(databases, { kind: "personChanged", personId: reset.personId });
    printRecord({ email, set_password_at: reset.url }, json);
  });

/** `tidemill people operator`: makes a person an operator, or with `--off` ends that. */
export const changeOperatorCommand = (email: string, { off = false, json }: Json & { off?: boolean }): Promise<void> =>
  withDatabase(async (databases, adminContext) => {
    const personId = await changeOperator(databases.api, adminContext, email, !off);
    if (personId === null) throw nobody(email);
    await notifyNodes(databases, { kind: "personChanged", personId });
    printRecord({ email, operator: !off }, json);
  });

/** `tidemill people remove`: removes a person, with their sessions and memberships. */
export const removePersonCommand = (email: string, { force = false, json }: Json & { force?: boolean }): Promise<void> =>
  withDatabase(async (databases, adminContext) => {
    const personId = await removePerson(databases.api, adminContext, email, force);
    if (personId === null) throw nobody(email);
    await notifyNodes(databases, { kind: "personChanged", personId });
    printRecord({ email, removed: true }, json);
  });

/** `tidemill people log`: shows what happened to an account, the newest first. */
export const logPersonCommand = (email: string, { json }: Json): Promise<void> =>
  withDatabase(async ({ api }) => {
    const found = await readAllPages(async (before: Uuid | null, limit) => {
      const page = await listEventsOf(api, email, before, limit);
      if (page === null) throw nobody(email);
      return page;
    });
    const events = found.map(showAccountEvent);
    if (json) printJson(events);
    else printTable(events, EVENT_COLUMNS);
  });

/** `tidemill people setup-link`: makes a link for a new operator. */
export const makeSetupLinkCommand = ({ json }: Json): Promise<void> =>
  withDatabase(async ({ api }, adminContext, config) => {
    const url = await makeSetupLink(api, { ...adminContext, ...(await addressesOf(api, config)) }, OPERATOR);
    printRecord({ url }, json);
  });

const nobody = (email: string) => new Error(`Nobody has the mail address "${email}": "tidemill people list" shows all people.`);

/** Where links lead: to the public URL if it is set, otherwise to a running node, otherwise to where a node with these settings would listen. */
async function addressesOf(db: Database, { publicUrl, host, port }: Config) {
  const running = publicUrl === null ? await findNodeUrl(db, hostname()) : null;
  const url = running ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return { publicUrl: readPublicUrl(publicUrl), nodeUrl: () => url };
}
