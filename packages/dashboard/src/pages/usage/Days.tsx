import { Table } from "@mantine/core";
import type { Usage } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { showCount } from "./numbers.ts";
import classes from "./usage.module.css";

/** The days of a month with their executions as bars, and as numbers. */
export function Days({ days }: { days: Read<Usage>["by_day"] }) {
  const most = Math.max(1, ...days.map(({ executions }) => executions));
  return (
    <div className={classes.scroll}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Day</Table.Th>
            <Table.Th className={classes.number}>Executions</Table.Th>
            <Table.Th className={classes.bars}>
              <span className={classes.hidden}>As a bar</span>
            </Table.Th>
            <Table.Th className={classes.number}>Attempts</Table.Th>
            <Table.Th className={classes.number}>Failed</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {days.map(({ day, executions, attempts }) => (
            <Table.Tr key={day}>
              <Table.Td className={classes.day}>{day}</Table.Td>
              <Table.Td className={classes.number}>{showCount(executions)}</Table.Td>
              <Table.Td className={classes.bars}>
                <div className={classes.bar} style={{ width: `${(executions / most) * 100}%` }} />
              </Table.Td>
              <Table.Td className={classes.number}>{showCount(attempts.total)}</Table.Td>
              <Table.Td className={classes.number}>{showCount(attempts.failed)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
