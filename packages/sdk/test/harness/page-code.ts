import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));
const TSC = path.join(REPOSITORY, "node_modules/typescript/bin/tsc");
const TSCONFIG = { extends: path.join(REPOSITORY, "tsconfig.json"), compilerOptions: { noUnusedLocals: false }, include: ["*.ts"] };

/** A block of TypeScript, and the block of text after it, which is what it prints. */
export interface CodeBlock {
  /** Of its first line, such as `// worker.ts`. */
  readonly file: string;
  readonly code: string;
  readonly output: string | null;
  /** Whether it goes on until it is stopped. */
  readonly isWorker: boolean;
}

const BLOCK = /^```(ts|text)\n([\s\S]*?)^```/gm;

/** The blocks of TypeScript of a page of `docs`, as files that may import each other. */
export class PageCode {
  readonly blocks: readonly CodeBlock[];
  readonly #directory: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #workers: ChildProcess[] = [];

  constructor(page: string, env: Readonly<Record<string, string>>) {
    this.blocks = readBlocks(readFileSync(path.join(REPOSITORY, "docs", page), "utf8"));
    this.#env = { PATH: process.env.PATH ?? "", ...env };
    // Beside the package's own files, where its dependencies are found.
    this.#directory = path.join(REPOSITORY, `packages/sdk/.page-${path.basename(page, ".md")}-${process.pid}`);
    mkdirSync(this.#directory, { recursive: true });
    for (const { file, code } of this.blocks) writeFileSync(path.join(this.#directory, file), code);
    writeFileSync(path.join(this.#directory, "tsconfig.json"), JSON.stringify(TSCONFIG));
  }

  /** What the compiler says. Empty if all types fit. */
  async typeErrors(): Promise<string> {
    const checked = promisify(execFile)(process.execPath, [TSC, "--noEmit", "-p", this.#directory]);
    return checked.then(
      () => "",
      ({ stdout, message }) => stdout || message,
    );
  }

  /** Runs a block to its end. Returns what it printed. */
  async run({ file }: CodeBlock): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, this.#argsOf(file), { env: this.#env });
    return stdout;
  }

  /** Starts a block that goes on until `close`. */
  start({ file }: CodeBlock): void {
    this.#workers.push(spawn(process.execPath, this.#argsOf(file), { env: this.#env, stdio: "ignore" }));
  }

  close(): void {
    for (const worker of this.#workers) worker.kill("SIGKILL");
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #argsOf(file: string): string[] {
    return ["--conditions=source", path.join(this.#directory, file)];
  }
}

function readBlocks(text: string): CodeBlock[] {
  const found = [...text.matchAll(BLOCK)].map(([, language = "", code = ""]) => ({ language, code }));
  return found.flatMap(({ language, code }, at) => {
    if (language !== "ts") return [];
    const [, file] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    if (file === undefined) throw new Error(`A block has no file name in its first line:\n${code}`);
    const next = found[at + 1];
    const isWorker = /await new Worker\([\s\S]*\)\.run\(\)/.test(code);
    return [{ file, code, output: next?.language === "text" ? next.code : null, isWorker }];
  });
}
