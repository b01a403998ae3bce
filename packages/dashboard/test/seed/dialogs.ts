import type { ElementHandle, Page } from "playwright-core";

/** A key, a text that is typed where the focus is, or a control on which Enter is pressed: its role and its name. */
type Step =
  | { readonly key: string }
  | { readonly type: string }
  | readonly ["button" | "menuitem" | "textbox" | "combobox" | "row", string | RegExp];

export interface Opening {
  /** The page, with the names of `seedHostile`: `jobs/$job`. */
  readonly at: string;
  readonly steps: readonly Step[];
  /** What opens. A dialog, unless the role says otherwise. */
  readonly shows: string | RegExp;
  readonly role?: "dialog" | "menu" | "listbox";
  /** A button that closes it, where Escape does not. */
  readonly closes?: string;
  /** The focus has nowhere to go back to: the page has changed, or nothing had it. */
  readonly changes?: true;
  /** What the session is before: it must be confirmed, or has ended. */
  readonly session?: "unconfirmed" | "ended";
}

const dialog = (at: string, shows: string | RegExp, ...steps: Step[]): Opening => ({ at, shows, steps });
const menu = (at: string, name: string | RegExp): Opening => ({ at, shows: name, steps: [["button", name]], role: "menu" });
/** Shown after something was done, once, and closed by its button. */
const once = (opening: Opening, rest: Partial<Opening> = {}): Opening => ({ ...opening, closes: "I have stored it", ...rest });
const enter = { key: "Enter" } as const;
const group = /^Actions on the group/;

/** How each dialog, menu and pop-up of a source file is opened, without a mouse. */
export const DIALOGS: Readonly<Record<string, readonly Opening[]>> = {
  "app/Palette.tsx": [dialog("workers", "Go to", ["button", /^Go to…/])],
  "app/SchemeSwitch.tsx": [menu("workers", /^Colors/)],
  "app/SessionDialogs.tsx": [
    { ...dialog("keys", "Confirm that it is you", ["button", /^Revoke javascript/], ["button", "Revoke"]), session: "unconfirmed" },
    { ...dialog("queues/pulled", "Your session has ended", ["button", "Pause"]), session: "ended", changes: true },
  ],
  "app/Shortcuts.tsx": [{ ...dialog("workers", "Keyboard", { key: "?" }), changes: true }],
  "app/TopBar.tsx": [menu("workers", /^Account of/)],
  "app/WorkspaceSwitcher.tsx": [menu("workers", /^Workspace/)],
  "app/ZoneSwitch.tsx": [
    menu("workers", /^Times are shown/),
    dialog("workers", "Show times in another zone", ["button", /^Times are shown/], ["menuitem", "Another zone…"]),
  ],
  "pages/account/AuthenticatorSection.tsx": [dialog("/account", /^Turn off/, ["button", "Turn off"])],
  "pages/account/PasskeysSection.tsx": [dialog("/account", /^Remove the passkey/, ["button", /^Remove the passkey/])],
  "pages/approvals/DecideDialog.tsx": [dialog("approvals", "Approve this job?", ["button", "Approve"])],
  "pages/audit/EventDialog.tsx": [dialog("audit", "webhook.created", ["button", "webhook.created"])],
  "pages/dead-letters/GroupActions.tsx": [dialog("dead-letters", /^Purge/, ["button", group], ["menuitem", "Purge the group…"])],
  "pages/dead-letters/GroupMenu.tsx": [menu("dead-letters", group)],
  "pages/jobs/JobActions.tsx": [
    menu("jobs/$job", "More"),
    dialog("jobs/$job", "Retry this job?", ["button", "Retry"]),
    dialog("jobs/$pending", "Cancel this job?", ["button", "Cancel"]),
    dialog("jobs/$job", "Remove this job?", ["button", "More"], ["menuitem", "Remove…"]),
  ],
  "pages/jobs/ManyJobs.tsx": [
    menu("jobs", "All that match"),
    dialog("jobs", /^Retry \d+ jobs/, ["button", "All that match"], ["menuitem", "Retry…"]),
  ],
  "pages/jobs/RunAgain.tsx": [dialog("jobs/$job", /^Run it again/, ["button", "More"], ["menuitem", "Run again, changed…"])],
  "pages/keys/KeyForm.tsx": [dialog("keys", "New key", ["button", "New key"])],
  "pages/keys/KeysPage.tsx": [
    once(dialog("keys", /^The key deploy/, ["button", "New key"], { type: "deploy" }, enter)),
    dialog("keys", /^Revoke/, ["button", "Revoke deploy"]),
  ],
  "pages/members/InviteDialog.tsx": [dialog("members", /^Invite somebody/, ["button", "Invite"])],
  "pages/members/InvitationMade.tsx": [
    once(dialog("members", "The invitation's link", ["button", "Invite"], { type: "guest@example.com" }, enter)),
  ],
  "pages/members/MembersPage.tsx": [dialog("members", /^Remove/, ["button", /^Remove .*member/])],
  "pages/members/RevokeInvitation.tsx": [dialog("members", "Revoke the invitation?", ["button", /^Revoke the invitation/])],
  "pages/members/RoleDialog.tsx": [dialog("members", /^The role of/, ["button", /^Change role of .*member/])],
  "pages/operator/DeleteWorkspace.tsx": [dialog("/operator/workspaces", "Delete Default?", ["button", "Delete Default"])],
  "pages/operator/WorkspaceDialog.tsx": [
    dialog("/operator/workspaces", /^New workspace|^Make a/, ["button", "New workspace"]),
    { ...dialog("/operator/workspaces", "Plan", ["button", "New workspace"], ["combobox", "Plan"]), role: "listbox" },
  ],
  "pages/operator/WorkspaceMade.tsx": [
    // The other opens next.
    once(dialog("/operator/workspaces", "The first key of Acme", ["button", "New workspace"], { type: "Acme" }, enter), { changes: true }),
    dialog("/operator/workspaces", "Who administers Bar?", ["button", "New workspace"], { type: "Bar" }, enter, [
      "button",
      "I have stored it",
    ]),
  ],
  "pages/queues/CreateQueue.tsx": [
    dialog("queues", "Create a queue", ["button", "Create a queue"]),
    once(
      dialog(
        "queues",
        "The callback secret of new",
        ["button", "Create a queue"],
        { type: "new" },
        { key: "Tab" },
        { type: "https://example.com/" },
        enter,
      ),
      { changes: true },
    ),
  ],
  "pages/queues/EnqueueTest.tsx": [dialog("queues/hostile", "Enqueue a job to hostile", ["button", "Enqueue a job"])],
  "pages/queues/QueueActions.tsx": [
    dialog("queues/hostile", /^Rotate the callback secret/, ["button", "Rotate the secret"]),
    dialog("queues/hostile", /^Delete the queue/, ["button", "Delete"]),
    once(dialog("queues/hostile", /^The callback secret of/, ["button", "Rotate the secret"], ["button", "Rotate"])),
  ],
  "pages/queues/SettingsForm.tsx": [
    dialog("queues/asked", "Settings of asked", ["button", "Settings"]),
    { ...dialog("queues/asked", /./, ["button", "Settings"], ["combobox", "When an approval times out"]), role: "listbox" },
    dialog("queues/hostile", /^Change 1 setting/, ["button", "Settings"], { type: "x" }, ["button", "Review changes"]),
  ],
  "pages/runs/CompleteSignal.tsx": [dialog("runs/$run", "Complete hostile.signal", ["button", "Complete the signal"])],
  "pages/runs/RunActions.tsx": [
    dialog("runs/$ended", "Retry this run?", ["button", "Retry"]),
    dialog("runs/$run", "Cancel this run?", ["button", "Cancel"]),
  ],
  "pages/schedules/ScheduleActions.tsx": [dialog("schedules/hostile", "Delete hostile?", ["button", "Delete"])],
  "pages/schedules/ScheduleDialog.tsx": [
    dialog("schedules/hostile", "Change hostile?", ["button", "Edit"], { type: "0 8 * * *" }, ["button", "Review the changes"]),
    dialog("schedules/hostile", "Edit hostile", ["button", "Edit"]),
  ],
  "pages/secrets/SecretForm.tsx": [dialog("secrets", "New secret", ["button", "New secret"])],
  "pages/secrets/SecretPage.tsx": [dialog("secrets/HOSTILE", "Delete HOSTILE?", ["button", "Delete"])],
  "pages/webhooks/WebhookActions.tsx": [
    menu("webhooks/hostile", "More"),
    dialog("webhooks/hostile", "Rotate the secret?", ["button", "More"], ["menuitem", "Rotate the secret"]),
    dialog("webhooks/hostile", "Switch hostile off?", ["button", "More"], ["menuitem", "Switch off"]),
    dialog("webhooks/hostile", "Delete hostile?", ["button", "More"], ["menuitem", "Delete"]),
    once(dialog("webhooks/hostile", "The new secret of the webhook", ["button", "More"], ["menuitem", "Rotate the secret"], enter)),
  ],
  "pages/webhooks/WebhookForm.tsx": [dialog("webhooks/hostile", "Edit hostile", ["button", "Edit"])],
  "pages/webhooks/WebhooksPage.tsx": [
    once(
      dialog(
        "webhooks",
        "The secret of the webhook",
        ["button", "New webhook"],
        { type: "new" },
        { key: "Tab" },
        { type: "https://example.com/" },
        enter,
      ),
      { changes: true },
    ),
  ],
  "pages/workflows/StartRun.tsx": [dialog("workflows/hostile", "Start a run of hostile", ["button", "Start a run"])],
  "ui/ChoiceFilter.tsx": [menu("jobs", /^State/)],
};

/** Opens one. Returns the controls that were used, of which the last that is still there gets the focus back. */
export async function openDialog(page: Page, { steps }: Opening): Promise<ElementHandle<Element>[]> {
  const used: ElementHandle<Element>[] = [];
  for (const step of steps) {
    // What follows another step is for the dialog that it opens.
    if (!Array.isArray(step) && step !== steps[0]) await page.locator("[role=dialog] :focus").waitFor();
    if ("key" in step) await page.keyboard.press(step.key);
    else if ("type" in step) await page.keyboard.type(step.type);
    else {
      const [role, name] = step;
      // A menu that has just opened puts the focus on its first item.
      if (role === "menuitem") await page.locator("[role=menu] :focus").waitFor();
      const shown = page.getByRole(role, { name, exact: typeof name === "string" }).and(page.locator(":visible"));
      const control = (await shown.last().elementHandle()) as ElementHandle<Element>;
      await control.press("Enter");
      if (role !== "menuitem") used.push(control);
    }
  }
  return used;
}
