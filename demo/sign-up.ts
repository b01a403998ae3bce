import { event, signal, type Workflow, type WorkflowContext, workflow } from "@tidemill/sdk";

interface User {
  readonly name: string;
}

/** How long the run waits for the confirmation, and how long it sleeps afterwards. */
const CONFIRM_WITHIN = "10m";
const SLEEP = "3s";

const confirmation = signal<{ readonly ok: boolean }>();

export interface SignUp {
  readonly signedUp: ReturnType<typeof event<User>>;
  readonly workflows: readonly Workflow<User, unknown>[];
}

/**
 * The workflows of a sign-up, which an event starts: it invokes one, and another event starts the last one.
 *
 * @param suffix distinguishes demos in one workspace
 * @param executed called by each step when it is executed, with what it does
 * @param mail called with the id of the signal that confirms the sign-up
 */
export function signUpWorkflows(suffix: string, executed: (what: string) => void, mail: (signalId: string) => void): SignUp {
  const signedUp = event<User>(`demo_${suffix}.user.signed_up`);
  const confirmed = event<User>(`demo_${suffix}.user.confirmed`);

  const numbering = workflow({ id: `demo-${suffix}.numbering` }, ({ input: user, step }: WorkflowContext<User>) =>
    step.run("count", () => {
      executed(`gives ${user.name} a number`);
      return 1;
    }),
  );
  const signUp = workflow({ id: `demo-${suffix}.sign-up`, on: signedUp }, async ({ input: user, step, run }: WorkflowContext<User>) => {
    const account = await step.run("create account", () => {
      executed(`creates an account for ${user.name}`);
      return { email: `${user.name.toLowerCase()}@example.com` };
    });
    const { signal } = await step.signal("ask", { signal: `confirm.${run.id}` });
    await step.run("send mail", () => {
      executed(`sends a mail to ${account.email}`);
      mail(signal);
    });
    const { ok } = await step.waitForSignal("confirmation", { signal, timeout: CONFIRM_WITHIN, of: confirmation });
    if (!ok) return { ...account, confirmed: false };
    await step.sleep("let the mail arrive", SLEEP);
    const { result: number } = await step.invoke("give number", { workflow: numbering, input: user, timeout: "1m" });
    await step.run("activate", () => executed(`activates ${account.email} as number ${number}`));
    const { runIds } = await step.sendEvent("tell others", { name: confirmed, data: user });
    return { ...account, confirmed: true, started: runIds };
  });

  const welcome = workflow({ id: `demo-${suffix}.welcome`, on: confirmed }, async ({ input: user, step }) => {
    await step.run("welcome", () => executed(`welcomes ${user.name}`));
  });

  return { signedUp, workflows: [signUp, numbering, welcome] };
}
