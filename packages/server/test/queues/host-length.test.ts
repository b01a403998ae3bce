import { expect, test } from "vitest";
import { checkCallback } from "../../src/queues/check-callback.ts";

const guard = { refusesHost: () => false };
const check = (host: string) => () => checkCallback(guard, { callback_url: `https://${host}/` });
const LABEL = "a".repeat(63);

test.for([`${LABEL}.example`, `${[LABEL, LABEL, LABEL].join(".")}.${"a".repeat(61)}`, `${LABEL}.`, "[2001:db8::1]"])(
  "a callback_url may have the host %s",
  (host) => {
    expect(check(host)).not.toThrow();
  },
);

test.for([`a${LABEL}.example`, `${[LABEL, LABEL, LABEL].join(".")}.${"a".repeat(62)}`, "a".repeat(256)])(
  "a callback_url with the host %s, which is too long for a name, is refused",
  (host) => {
    expect(check(host)).toThrow(
      expect.objectContaining({ code: "VALIDATION_ERROR", message: expect.stringMatching(/callback_url.*at most 253 characters/) }),
    );
  },
);
