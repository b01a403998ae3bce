import { WriteStream } from "node:tty";
import { stripVTControlCharacters } from "node:util";
import { afterEach, expect, test, vi } from "vitest";
import { printFields, printJson, printTable, recordPrinter } from "../src/output/table.ts";

const ROWS = [
  { name: "emails", state: "failed" },
  { name: "京都", state: "completed" },
];

/** What is printed, in a terminal or not. */
function printed(isTTY: boolean, environment: Readonly<Record<string, string>>, print: () => void): string {
  let text = "";
  vi.spyOn(process.stdout, "write").mockImplementation((part) => {
    text += String(part);
    return true;
  });
  vi.stubEnv("FORCE_COLOR", undefined);
  const { isTTY: before, getColorDepth } = process.stdout;
  // How a terminal finds out which colours it may show: by this environment only, as CI servers have variables of their own.
  Object.assign(process.stdout, { isTTY, getColorDepth: () => WriteStream.prototype.getColorDepth.call(process.stdout, environment) });
  try {
    print();
  } finally {
    Object.assign(process.stdout, { isTTY: before, getColorDepth });
  }
  return text;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const COLOURS = { TERM: "xterm-256color" };

test("in a terminal, columns are as wide as what they show, and states have colours", () => {
  const table = printed(true, COLOURS, () => printTable(ROWS));
  expect(stripVTControlCharacters(table)).toBe("NAME    STATE\nemails  failed\n京都    completed\n");
  expect(table).toContain("\u001b[31mfailed");
});

test("NO_COLOR leaves out the colours", () => {
  const table = printed(true, { ...COLOURS, NO_COLOR: "1" }, () => printTable(ROWS));
  expect(table).toBe("NAME    STATE\nemails  failed\n京都    completed\n");
});

test("elsewhere cells are separated by tabs, without colours", () => {
  expect(printed(false, COLOURS, () => printTable(ROWS))).toBe("NAME\tSTATE\nemails\tfailed\n京都\tcompleted\n");
  expect(printed(false, COLOURS, () => printFields({ name: "emails", limits: null }, false))).toBe("name\temails\nlimits\t\n");
});

test("a name cannot move the cursor, end the line or add a cell", () => {
  const table = printed(false, COLOURS, () => printTable([{ name: "a\u001b[2Jb\tc\nd\u202e" }]));
  expect(table).toBe("NAME\na\\u001b[2Jb\\u0009c\\u000ad\\u202e\n");
});

test("records that come in parts are one table, whose columns grow, or one array", () => {
  const print = (json: boolean) => () => {
    const printer = recordPrinter(["name", "state"], json);
    for (const row of ROWS) printer.print([row]);
    printer.print([{ name: "newsletters", state: "ok" }]);
    printer.end();
  };
  const head = "NAME    STATE\nemails  failed\n京都    completed\n";
  expect(stripVTControlCharacters(printed(true, COLOURS, print(false)))).toBe(`${head}newsletters  ok\n`);
  expect(printed(false, COLOURS, print(true))).toBe(
    printed(false, COLOURS, () => printJson([...ROWS, { name: "newsletters", state: "ok" }])),
  );
});

test("without records there is the head of a table, or an empty array", () => {
  expect(printed(false, COLOURS, () => recordPrinter(["name", "state"], false).end())).toBe("NAME\tSTATE\n");
  expect(printed(false, COLOURS, () => recordPrinter(["name", "state"], true).end())).toBe("[]\n");
});
