import { beforeEach } from "vitest";
import { serviceLog } from "./service-log.ts";

// A passing test shows no log. A failing one shows what the services logged while it ran.
beforeEach(({ onTestFailed, task }) => {
  serviceLog.begin();
  onTestFailed(() => {
    const log = serviceLog.show();
    if (log !== "") process.stderr.write(`\nThe service log of "${task.name}":\n${log}\n\n`);
  });
});
