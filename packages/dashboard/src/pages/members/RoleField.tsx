import { Radio, Stack } from "@mantine/core";
import type { PersonRole } from "@tidemill/contract";

const MEANINGS: Readonly<Record<PersonRole, string>> = {
  read: "Can view everything except members, keys and the audit log.",
  write: "Can also create and change queues, jobs, schedules and workflows, and decide approvals.",
  admin: "Can also manage secrets, keys, members and webhooks.",
};

/** Chooses what somebody may do. */
export function RoleField({ role, onChange }: { role: PersonRole; onChange: (role: PersonRole) => void }) {
  return (
    <Radio.Group label="Role" value={role} onChange={(value) => onChange(value as PersonRole)}>
      <Stack gap="xs" mt="xs">
        {(Object.keys(MEANINGS) as PersonRole[]).map((one) => (
          <Radio key={one} value={one} label={one} description={MEANINGS[one]} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
