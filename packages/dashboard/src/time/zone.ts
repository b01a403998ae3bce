import { usePreference } from "../app/preferences.ts";

/** The zone in which times are shown: `local`, `utc`, or an IANA name. */
export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The person's zone as an IANA name, and the choice behind it. */
export function useZone(): { zone: string; choice: string; choose: (choice: string) => void } {
  const [choice, choose] = usePreference("zone", "local");
  return { zone: zoneOf(choice), choice, choose };
}

function zoneOf(choice: string): string {
  if (choice === "local") return LOCAL_ZONE;
  if (choice === "utc") return "UTC";
  return isZone(choice) ? choice : LOCAL_ZONE;
}

export function isZone(name: string): boolean {
  try {
    Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
