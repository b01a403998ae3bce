import { ActionIcon, Menu, TextInput } from "@mantine/core";
import { useState } from "react";
import { isZone, LOCAL_ZONE, useZone } from "../time/zone.ts";
import { Dialog } from "../ui/dialogs/Dialog.tsx";
import { DialogButtons } from "../ui/dialogs/DialogButtons.tsx";
import { Icon } from "../ui/Icon.tsx";

/** The zone in which times are shown: the browser's, UTC, or any other. Stored in the browser. */
export function ZoneSwitch() {
  const { zone, choice, choose } = useZone();
  const [asking, setAsking] = useState(false);
  const other = choice !== "local" && choice !== "utc" ? choice : null;
  return (
    <>
      <Menu position="top-start">
        <Menu.Target>
          <ActionIcon aria-label={`Times are shown in ${zone}`} title={`Times in ${zone}`}>
            <Icon name="clock" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Show times in</Menu.Label>
          <Menu.RadioGroup value={choice} onChange={choose}>
            <Menu.RadioItem value="local" closeMenuOnClick>{`Local (${LOCAL_ZONE})`}</Menu.RadioItem>
            <Menu.RadioItem value="utc" closeMenuOnClick>
              UTC
            </Menu.RadioItem>
            {other && <Menu.RadioItem value={other}>{other}</Menu.RadioItem>}
          </Menu.RadioGroup>
          <Menu.Item onClick={() => setAsking(true)}>Another zone…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {asking && <OtherZone onClose={() => setAsking(false)} onChoose={choose} />}
    </>
  );
}

function OtherZone({ onClose, onChoose }: { onClose: () => void; onChoose: (zone: string) => void }) {
  const [name, setName] = useState("");
  return (
    <Dialog onClose={onClose} title="Show times in another zone">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onChoose(name);
          onClose();
        }}
      >
        <TextInput
          label="Zone"
          description="A name like Europe/Berlin or America/New_York."
          value={name}
          error={name !== "" && !isZone(name) ? "There is no such zone." : undefined}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          list="zones"
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <datalist id="zones">
          {Intl.supportedValuesOf("timeZone").map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        <DialogButtons action="Show" onCancel={onClose} disabled={!isZone(name)} />
      </form>
    </Dialog>
  );
}
