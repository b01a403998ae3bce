import { PLANS, type Plan } from "@tidemill/contract";
import { uuidOf } from "../../packages/server/src/kernel/index.ts";
import type { Attack } from "./attack.ts";

export const OPERATOR_TOKEN = "bench-operator-token";

/** A workspace as the operator API shows it, with its first key. */
export interface BenchWorkspace {
  readonly id: string;
  /** Its id in the database. */
  readonly uuid: string;
  readonly key: string;
}

/** Creates workspaces and changes their limits over a node's operator API. */
export class Operator {
  readonly #url: string;

  constructor(internalUrl: string) {
    this.#url = `${internalUrl}/admin/v1/workspaces`;
  }

  /** Creates a workspace without limits. */
  async createWorkspace(name: string, plan: Plan): Promise<BenchWorkspace> {
    const limits = { executions_per_month: null, requests_per_minute: null };
    const { id, key } = await this.#send<{ id: string; key: string }>("POST", "", { name, plan, limits });
    return { id, uuid: uuidOf("ws", id) ?? "", key };
  }

  /** Sets the limits of the plan. With several attacks at once, the requests that each of their plans allows are added up. */
  async limit(workspace: BenchWorkspace, attacks: readonly Attack[]): Promise<void> {
    const plan = planOf(attacks);
    const requests = attacks.reduce((sum, attack) => sum + (PLANS[attack.plan].limits.requests_per_minute ?? 0), 0);
    await this.#send("PATCH", `/${workspace.id}`, { plan, limits: { requests_per_minute: requests } });
  }

  async #send<Body>(method: string, path: string, body: object): Promise<Body> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
    return JSON.parse(text) as Body;
  }
}

/** The plan on which all of these attacks are possible. */
export const planOf = (attacks: readonly Attack[]): Plan => (attacks.some(({ plan }) => plan === "pro") ? "pro" : "free");
