import addScripts from "@bomb.sh/tab/commander";
import type { Command } from "commander";

/**
 * The script for bash. The one of @bomb.sh/tab needs the package bash-completion, executes typed text such as `$(…)`, and cannot be loaded
 * twice.
 */
const BASH = `# bash completion for tidemill
_tidemill() {
  local typed="\${COMP_LINE:0:COMP_POINT}" name description
  local -a words
  read -ra words <<<"$typed"
  [[ $typed == *[[:space:]] ]] && words+=("")
  COMPREPLY=()
  while IFS=$'\\t' read -r name description; do
    [[ $name == :* ]] || COMPREPLY+=("$name")
  done < <("$1" complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -o bashdefault -o default -F _tidemill tidemill
`;

/** Adds the command that prints completion scripts, and the one that these scripts call. */
export function addCompletion(program: Command): void {
  const name = "completion";
  const scripts = addScripts(program, { completionCommandName: name });
  const command = program.commands.find((one) => one.name() === name);
  command?.action((shell: string) => {
    if (shell === "bash") process.stdout.write(BASH);
    else scripts.setup(program.name(), program.name(), shell);
  });
}
