import { Tidemill } from "@tidemill/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { printRecord, printRecords } from "../output/table.ts";
import { ask } from "../prompt/ask.ts";
import { readHidden } from "../prompt/read-hidden.ts";
import { noProfile } from "./choose.ts";
import { profilesFile, readProfiles, writeProfiles } from "./file.ts";

const DEFAULT_NAME = "default";

interface LoginOptions {
  readonly url?: string;
  readonly key?: string;
  readonly profile?: string;
  readonly json?: boolean;
}

/** Commands that save services and keys, so that other commands do not need the options. */
export function addProfileCommands(program: Command): void {
  program
    .command("login")
    .description(
      "Save the URL and a key of a service for later commands. The command asks for values that no option gives; without a terminal, it reads the key from the standard input. TIDEMILL_URL and TIDEMILL_KEY are used for values that are not entered",
    )
    .option("--url <url>", "Address of the service")
    .option("--key <key>", "Key of the workspace. Other users of this machine may see it; prefer the prompt or the standard input")
    .option("--profile <name>", `Name to save it under. Default: TIDEMILL_PROFILE, otherwise "${DEFAULT_NAME}"`, readName)
    .option("--json", "Print JSON")
    .action(login);

  const profile = program.command("profile").description("Services and keys that were saved with tidemill login");
  profile
    .command("list")
    .description("List profiles, without their keys")
    .option("--json", "Print JSON")
    .action(({ json }: { json?: boolean }) => {
      const saved = readProfiles();
      const rows = Object.entries(saved.profiles).map(([name, { url }]) => ({ name, url, default: name === saved.default }));
      printRecords(rows, ["name", "url", "default"], json);
    });
  profile
    .command("use")
    .description("Choose the profile that commands use by default")
    .argument("<name>", "Name of the profile")
    .option("--json", "Print JSON")
    .action((name: string, { json }: { json?: boolean }) => {
      const saved = readProfiles();
      const { url } = savedAs(name, saved.profiles);
      writeProfiles({ ...saved, default: name });
      printRecord({ profile: name, url }, json);
    });
  profile
    .command("delete")
    .description("Delete a profile. Its key stays valid until it is revoked")
    .argument("<name>", "Name of the profile")
    .option("--json", "Print JSON")
    .action((name: string, { json }: { json?: boolean }) => {
      const saved = readProfiles();
      savedAs(name, saved.profiles);
      const { [name]: _, ...profiles } = saved.profiles;
      writeProfiles({ default: saved.default === name ? (Object.keys(profiles)[0] ?? null) : saved.default, profiles });
      printRecord({ profile: name, deleted: true }, json);
    });
}

/**
 * Saves a profile when the service has accepted its key. It becomes the one that commands use. The file is read first: a damaged one is not
 * replaced, because other profiles may be in it.
 */
async function login({ url: givenUrl, key: givenKey, profile: givenName, json }: LoginOptions): Promise<void> {
  readProfiles();
  const profile = givenName ?? (process.env.TIDEMILL_PROFILE || DEFAULT_NAME);
  const url = givenUrl ?? (await askForUrl(process.env.TIDEMILL_URL || undefined));
  const key = givenKey ?? (await askForKey(process.env.TIDEMILL_KEY || undefined));
  const { workspace } = await new Tidemill({ url, key, retryForMs: 0 }).status();
  writeProfiles({ default: profile, profiles: { ...readProfiles().profiles, [profile]: { url, key } } });
  printRecord({ profile, url, workspace: workspace.name, file: profilesFile() }, json);
}

async function askForUrl(otherwise: string | undefined): Promise<string> {
  if (process.stdin.isTTY) return ask("Address of the service:", otherwise ?? "http://127.0.0.1:8080");
  if (otherwise === undefined) throw new Error("Give --url, or set TIDEMILL_URL.");
  return otherwise;
}

const askForKey = (otherwise: string | undefined): Promise<string> =>
  readHidden(`Key of the workspace${otherwise === undefined ? "" : " (TIDEMILL_KEY)"}:`, otherwise);

function readName(name: string): string {
  if (name === "") throw new InvalidArgumentError("Expected a name.");
  return name;
}

function savedAs<Saved>(name: string, profiles: Readonly<Record<string, Saved>>): Saved {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!found) throw noProfile(name, Object.keys(profiles));
  return found;
}
