import type { ListedRun } from "@tidemill/contract";

/** What started a run, in words. */
export function describeTrigger({ type, name }: ListedRun["trigger"]): string {
  switch (type) {
    case "event":
      return `event ${name}`;
    case "schedule":
      return "schedule";
    case "invoke":
      return "another run";
    default:
      return "API";
  }
}
