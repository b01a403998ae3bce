import { Kbd, Table } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { Dialog } from "../ui/dialogs/Dialog.tsx";
import { useNavigablePages } from "./navigable-pages.ts";
import { useWorkspaceNearby } from "./workspace.tsx";

/** After `g`, the second key must come within this time. Milliseconds. */
const SECOND_KEY_MS = 1_500;

/** Keys that work on every page: `?` shows them, `g` and a letter go to a page. */
export function Shortcuts({ onPalette }: { onPalette: () => void }) {
  const [shown, setShown] = useState(false);
  const pages = useNavigablePages();
  const workspace = useWorkspaceNearby();
  const navigate = useNavigate();
  const waitsSince = useRef<number | null>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        return onPalette();
      }
      if (isForOthers(event) || event.defaultPrevented) return;
      if (event.key === "g") waitsSince.current = event.timeStamp;
      else if (event.key === "?") setShown(true);
      else if (event.key === "/") focusFilter(event);
    };
    // Before a list or a page that has the same key: after `g`, it names a page.
    const onSecondKey = (event: KeyboardEvent) => {
      const since = waitsSince.current;
      waitsSince.current = null;
      if (since === null || event.timeStamp - since >= SECOND_KEY_MS || isForOthers(event)) return;
      const page = pages.find(({ key }) => key === event.key);
      if (!page) return;
      event.preventDefault();
      event.stopPropagation();
      void navigate({ to: `/${page.path}`, params: { workspace: workspace?.id ?? "" } });
    };
    document.addEventListener("keydown", onSecondKey, { capture: true });
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onSecondKey, { capture: true });
      document.removeEventListener("keydown", onKey);
    };
  }, [pages, workspace, navigate, onPalette]);
  return (
    <Dialog opened={shown} onClose={() => setShown(false)} title="Keyboard" size="lg">
      <Table>
        <Table.Tbody>
          {[...GENERAL, ...pages.flatMap(({ key, title }) => (key ? [[["g", key], `Go to ${title}`] as const] : []))].map(
            ([keys, text]) => (
              <Table.Tr key={text}>
                <Table.Td w="9rem">
                  {keys.map((key) => (
                    <Kbd key={key} size="xs" mr={4}>
                      {key}
                    </Kbd>
                  ))}
                </Table.Td>
                <Table.Td>{text}</Table.Td>
              </Table.Tr>
            ),
          )}
        </Table.Tbody>
      </Table>
    </Dialog>
  );
}

const GENERAL: readonly (readonly [readonly string[], string])[] = [
  [["⌘ / Ctrl", "K"], "Go anywhere: pages, queues, workflows, an id"],
  [["?"], "Show these keys"],
  [["/"], "Go to the filters"],
  [["j", "k"], "Next and previous row; arrow keys do the same"],
  [["Enter"], "Open the row"],
  [["x"], "Select the row; with Shift, all from the last selected one"],
];

function focusFilter(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>("[role=search] input, [role=search] button");
  if (!field) return;
  event.preventDefault();
  field.focus();
}

const isForOthers = (event: KeyboardEvent): boolean => event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target);

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=dialog], [role=menu]");
}
