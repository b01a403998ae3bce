import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from "@mantine/core";
import { Icon, type IconName } from "../ui/Icon.tsx";

const SCHEMES: readonly [MantineColorScheme, string, IconName][] = [
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
  ["auto", "As the system", "system"],
];

/** Light, dark, or as the system. Kept in the browser. */
export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [, label, icon] = SCHEMES.find(([name]) => name === colorScheme) ?? (SCHEMES[0] as (typeof SCHEMES)[0]);
  return (
    <Menu position="top-start">
      <Menu.Target>
        <ActionIcon aria-label={`Colors: ${label}`}>
          <Icon name={icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map(([name, text, schemeIcon]) => (
          <Menu.Item
            key={name}
            leftSection={<Icon name={schemeIcon} />}
            rightSection={name === colorScheme ? <Icon name="check" /> : null}
            onClick={() => setColorScheme(name)}
          >
            {text}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
