import type { PersonRole } from "@tidemill/contract";
import type { WorkspaceId } from "#kernel";
import { readWorkspaceId } from "#workspaces";

/** What a group of the identity provider may do. */
type Rule = { readonly group: string } & (
  | { readonly operator: true }
  | { readonly operator: false; readonly workspaceId: WorkspaceId; readonly role: PersonRole }
);

/** What a person may do because of their groups. */
export interface GroupRights {
  /** Null when no rule is about operators. */
  readonly operator: boolean | null;
  /** The role for each workspace of the rules. Null: none. */
  readonly roles: ReadonlyMap<WorkspaceId, PersonRole | null>;
}

const RANK: Record<PersonRole, number> = { read: 1, write: 2, admin: 3 };

/** Reads the rules of `TIDEMILL_OIDC_ROLES`, whose form has already been checked. */
export const readRules = (rules: readonly string[]): Rule[] =>
  rules.flatMap((text): Rule[] => {
    const [group = "", right = ""] = text.split("=");
    if (right === "operator") return [{ group, operator: true }];
    const [workspace = "", role] = right.split(":");
    const workspaceId = readWorkspaceId(workspace);
    return workspaceId ? [{ group, operator: false, workspaceId, role: role as PersonRole }] : [];
  });

/** The combined rights of the groups: of several roles in a workspace, the highest counts. */
export function rightsOf(rules: readonly Rule[], groups: readonly string[]): GroupRights {
  const has = ({ group }: Rule) => group === "*" || groups.includes(group);
  const roles = new Map<WorkspaceId, PersonRole | null>();
  let operator: boolean | null = null;
  for (const rule of rules) {
    if (rule.operator) operator = operator || has(rule);
    else {
      const best = roles.get(rule.workspaceId) ?? null;
      roles.set(rule.workspaceId, has(rule) && (best === null || RANK[rule.role] > RANK[best]) ? rule.role : best);
    }
  }
  return { operator, roles };
}
