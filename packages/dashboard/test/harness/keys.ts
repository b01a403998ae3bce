import type { Locator, Page } from "playwright-core";

/** More than there are controls on any page. */
const MAX_TABS = 120;

/** A person without a mouse. Nothing is clicked, and nothing is focused but by keys. */
export class Keys {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#page.keyboard.press(key);
  }

  /** Presses keys one after the other without waiting for the page in between: a shortcut of two keys must be quick. */
  async chord(...keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#page.keyboard.press(key)));
  }

  async type(text: string): Promise<void> {
    await this.#page.keyboard.type(text);
  }

  /** Waits for a dialog that has the focus. */
  async dialog(name: string | RegExp): Promise<void> {
    const dialog = this.#page.getByRole("dialog", { name });
    await dialog.locator(":focus").first().waitFor({ state: "attached" });
  }

  /** Goes to a control with Tab. Its focus can be seen. */
  async to(control: Locator, key = "Tab"): Promise<void> {
    await control.waitFor();
    for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
      if (await control.evaluate((element) => element === document.activeElement && element.matches(":focus-visible"))) return;
      await this.#page.keyboard.press(key);
    }
    throw new Error(`${control} is not reached with ${key}.`);
  }

  /** Goes to a button, and presses it. */
  async button(name: string | RegExp, key = "Tab"): Promise<void> {
    const shown = this.#page.getByRole("button", { name, exact: typeof name === "string" }).and(this.#page.locator(":visible"));
    await this.to(shown.last(), key);
    await this.#page.keyboard.press("Enter");
  }

  /** Presses the button of a dialog that has the focus when the dialog opens. */
  async confirm(dialog: string | RegExp): Promise<void> {
    await this.dialog(dialog);
    await this.#page.keyboard.press("Enter");
  }

  /** Goes to a page by the command palette. */
  async goTo(text: string, heading: string): Promise<void> {
    await this.press("Control+k");
    await this.dialog("Go to");
    await this.type(text);
    await this.#page.getByRole("option", { name: new RegExp(`^${heading}`) }).waitFor();
    await this.press("Enter");
    await this.#page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  }

  /** Goes to the first row of a list, and from there to another by arrows. */
  async row(list: string, text: string): Promise<void> {
    const rows = this.#page.getByRole("grid", { name: list }).locator("[data-row]");
    await rows.filter({ hasText: text }).first().waitFor();
    await this.to(rows.and(this.#page.locator("[tabindex='0']")));
    const at = (await rows.allTextContents()).findIndex((row) => row.includes(text));
    await this.down(at);
  }

  /** Goes down in a list by arrows. */
  async down(rows: number): Promise<void> {
    const focused = this.#page.locator("[data-row]:focus");
    for (let step = 0; step < rows; step += 1) {
      const next = Number(await focused.getAttribute("data-row")) + 1;
      await this.press("ArrowDown");
      await this.#page.locator(`[data-row="${next}"]:focus`).waitFor();
    }
  }
}
