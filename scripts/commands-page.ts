import type { createProgram } from "../packages/cli/src/program.ts";
import { code, table } from "./markdown.ts";

type Command = ReturnType<typeof createProgram>;
type Option = Command["options"][number];

/** Options that many commands share. docs/cli.md explains them once, before the commands. */
const SHARED = new Set(["--json", "--url", "--key", "--profile", "--help"]);

/** Every command with its arguments and options, as Markdown. */
export const commandsPage = (program: Command): string => program.commands.filter(isShown).flatMap(sections).join("\n\n");

/** Shells call `tidemill complete`. A command of a family may have the same name, as that of signals. */
const isShown = (command: Command): boolean => pathOf(command) !== "complete";

function sections(command: Command): string[] {
  const own = `### ${pathOf(command)}\n\n${command.description()}.`;
  const children = command.commands.filter(isShown);
  return children.length > 0 ? [own, ...children.map(describe)] : [own, detailsOf(command)].filter((part) => part !== "");
}

const describe = (command: Command): string =>
  [`#### ${pathOf(command)}`, `${command.description()}.`, detailsOf(command)].filter((part) => part !== "").join("\n\n");

function detailsOf(command: Command): string {
  const usage = ["```", `tidemill ${pathOf(command)} ${usageOf(command)}`.trimEnd(), "```"].join("\n");
  const rows = [
    ...command.registeredArguments.map((argument) => [code(argument.name()), argument.description]),
    ...command.options.filter((option) => isOwn(command, option)).map(({ flags, description }) => [code(flags), description]),
  ];
  return [usage, ...(rows.length > 0 ? [table(["argument or option", "meaning"], rows)] : [])].join("\n\n");
}

const usageOf = (command: Command): string => {
  const usage = command.usage();
  return command.options.length === 0 ? usage.replace("[options]", "").trim() : usage;
};

/** `login` and `profile` say more about the options that others share. */
const isOwn = (command: Command, { long }: Option): boolean => command.name() === "login" || !SHARED.has(long ?? "");

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}
