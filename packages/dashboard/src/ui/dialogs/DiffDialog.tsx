import { Table } from "@mantine/core";
import { ConfirmDialog } from "./ConfirmDialog.tsx";
import classes from "./DiffDialog.module.css";

/** A setting that changes: its old and its new value as texts. */
export interface Change {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

export interface DiffDialogProps {
  readonly opened: boolean;
  readonly title: string;
  readonly changes: readonly Change[];
  /** Settings that somebody else has changed since the person began. */
  readonly meanwhile?: readonly string[];
  readonly onClose: () => void;
  readonly onSave: () => Promise<unknown>;
}

/** Shows what would change before it is saved. */
export function DiffDialog({ opened, title, changes, meanwhile = [], onClose, onSave }: DiffDialogProps) {
  return (
    <ConfirmDialog opened={opened} onClose={onClose} title={title} action="Save" onConfirm={onSave}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Setting</Table.Th>
            <Table.Th>Now</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map(({ name, from, to }) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td className={classes.from}>{from === "" ? "none" : from}</Table.Td>
              <Table.Td className={classes.to}>{to === "" ? "none" : to}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {meanwhile.length > 0 && <p role="alert">Somebody has changed this since you opened the form: {meanwhile.join(", ")}.</p>}
    </ConfirmDialog>
  );
}

/** The settings that differ. Values are compared and shown as JSON texts, plain texts without quotes. */
export function changesBetween(now: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): Change[] {
  return Object.keys(after).flatMap((name) => {
    const [from, to] = [show(now[name]), show(after[name])];
    return from === to ? [] : [{ name, from, to }];
  });
}

const show = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
