/** Copies a text. Pages on plain HTTP have no clipboard of their own, so there the browser copies a selection. */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext && navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.style.position = "fixed";
  area.style.opacity = "0";
  // Inside an open dialog, which keeps the focus to itself.
  const home = document.querySelector("[role=dialog]") ?? document.body;
  const focused = document.activeElement as HTMLElement | null;
  home.append(area);
  try {
    area.select();
    if (!document.execCommand("copy")) throw new Error("The browser did not copy.");
  } finally {
    area.remove();
    focused?.focus();
  }
}
