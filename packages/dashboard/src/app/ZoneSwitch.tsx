import { ActionIcon, Menu, TextInput } from "@mantine/core";
import { useState } from "react";
import { isZone, LOCAL_ZONE, useZone } from "../time/zone.ts";
import { Icon } from "../ui/Icon.tsx";

/** In which zone times are shown: the browser's, UTC, or any. Kept in the browser. */
export function ZoneSwitch() {
  const { zone, choice, choose } = useZone();
  const [name, setName] = useState("");
  const other = choice !== "local" && choice !== "utc" ? choice : null;
  const item = (value: string, text: string) => (
    <Menu.Item key={value} rightSection={value === choice ? <Icon name="check" /> : null} onClick={() => choose(value)}>
      {text}
    </Menu.Item>
  );
  return (
    <Menu position="top-start" closeOnItemClick trapFocus>
      <Menu.Target>
        <ActionIcon aria-label={`Times are shown in ${zone}`} title={`Times in ${zone}`}>
          <Icon name="clock" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Show times in</Menu.Label>
        {item("local", `Local (${LOCAL_ZONE})`)}
        {item("utc", "UTC")}
        {other && item(other, other)}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (isZone(name)) choose(name);
          }}
        >
          <TextInput
            m={6}
            size="xs"
            aria-label="Another zone"
            placeholder="Europe/Berlin"
            value={name}
            error={name !== "" && !isZone(name) ? "No such zone" : undefined}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            onKeyDown={(event) => event.stopPropagation()}
          />
        </form>
      </Menu.Dropdown>
    </Menu>
  );
}
