import { ActionIcon, Group, Menu } from "@mantine/core";
import { auth } from "../api/api.ts";
import { ROOT } from "../api/request.ts";
import { usePerson } from "../api/session.ts";
import { LiveMark } from "../live/LiveMark.tsx";
import { Icon } from "../ui/Icon.tsx";
import { notifyFailure } from "../ui/notices.ts";
import { SchemeSwitch } from "./SchemeSwitch.tsx";
import { ZoneSwitch } from "./ZoneSwitch.tsx";

/** What concerns the person: how times and colors are shown, the account, signing out. */
export function TopBar() {
  const person = usePerson();
  return (
    <Group gap={4} wrap="nowrap">
      <SchemeSwitch />
      <ZoneSwitch />
      <Menu position="top-start">
        <Menu.Target>
          <ActionIcon aria-label={`Account of ${person.name}`}>
            <Icon name="account" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{person.email}</Menu.Label>
          <Menu.Item component="a" href={`${ROOT}account`} leftSection={<Icon name="account" />}>
            Account
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="signOut" />} onClick={() => void signOut()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <LiveMark />
    </Group>
  );
}

/** Loads the document again, so that no data of the session stays in memory. */
async function signOut(): Promise<void> {
  try {
    await auth.post("/sign-out");
    location.assign(`${ROOT}sign-in`);
  } catch (error) {
    notifyFailure("You are still signed in", error);
  }
}
