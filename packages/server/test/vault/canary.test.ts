import { describe, expect } from "vitest";
import { ENCODERS } from "../harness/encoders.ts";
import { LeakyWorkspace, type Places } from "../harness/leaky-workspace.ts";
import { Search } from "../harness/search.ts";
import { test as base, Stage } from "../harness/stage.ts";

/** Values that break out of quotes, templates, lines, URLs and markup. No part of them occurs anywhere else. */
const SECRETS = {
  PLAIN: "uB7hQz2LmX9cVt4RkW1sYp8JdN5gFa0EoKi3TrZv",
  QUOTED: `Wd3'kP"x8\\Lq5\`Zt1$(Hn6)Rv"'9b'Mf2`,
  BRACED: 'Gy4}Jm7}}Kx{{2Vs{8Qz}Tb5]Nc[1"}Xr9',
  TEMPLATE: "Qm4xT9vK2p${{ secrets.NO_SUCH }}Zr8nB3wL6y",
  PERCENT: "Hs%41%zz8%Kd2&amp;<Vb6>&Xq+9 Tn=3%25Lw7",
  LINES: "Fz1Yk8\nRp5\r\nCx9Wm3\tBq7\nVd4\n\nTs2Lh6Jg",
  UNICODE: "Zé4ñKü中8🌊Qx7ÿVß2日Lw5\u00a0Mø9🔑Td3Hå",
  NUMBER: "73150482966413058742",
} as const;
const IN_HEADERS = ["PLAIN", "QUOTED", "BRACED", "TEMPLATE", "PERCENT", "NUMBER"] as const;
const REFUSED = "Xv6Lk1Nw8Rz3Cq9Tb5Hm2Jd7Gp4Fs0Y";
const PLANTED = "Pj8Wc3Vr6Kt1Zm9Xn4Bs7Qd2Lf5Hg0T";
const MASTER_KEY = "u3JkVq8ZpTm5Xw1LrYc7NbHs4Gd9FaKe2QvRtWzMxPo=";
const ADMIN_TOKEN = "Rk7Zt2Wm9Qx4Vb6Lp1Nc8Hd5Jg3Fs0Ty";

const test = base.extend("places", { scope: "file" }, async ({}, { onCleanup }): Promise<Places> => {
  const stage = new Stage();
  onCleanup(() => stage.close());
  const values = {
    secrets: SECRETS,
    inHeaders: IN_HEADERS,
    refused: REFUSED,
    planted: PLANTED,
    masterKey: MASTER_KEY,
    adminToken: ADMIN_TOKEN,
  };
  return new LeakyWorkspace(stage, values).play();
});

describe("what is stored, logged and answered", () => {
  const search = new Search({ ...SECRETS, REFUSED, MASTER_KEY, ADMIN_TOKEN });

  test.for([
    ["in a reply of the API", "replies"],
    ["in the log", "logs"],
    ["in the metrics", "metrics"],
    ["in what Node reports of a crash", "reports"],
    ["in a column of the database", "database"],
    ["in a file of the database", "files"],
  ] as const)("nothing of a secret, nor of what keeps it, stands %s", ([, place], { places }) => {
    expect(search.in(places[place])).toEqual([]);
  });
});

describe("a secret that is there", () => {
  test("a secret would have been seen in each encoding, also where it was cut off", () => {
    const search = new Search(SECRETS);
    for (const [name, value] of Object.entries(SECRETS)) {
      for (const [encoding, encode] of Object.entries(ENCODERS)) {
        const text = encode(value);
        for (const left of [text, text.slice(Math.floor(text.length / 3)), text.slice(0, Math.ceil((text.length * 2) / 3))]) {
          expect(search.in(Buffer.from(`{"token":"${left}"}`)), `${name} ${encoding}`).not.toEqual([]);
        }
      }
    }
  });

  test("a secret would have been seen in replies, columns and files that hold it", ({ places }) => {
    const search = new Search({ PLANTED });
    for (const place of ["replies", "database", "files"] as const) expect(search.in(places[place]), place).toContain("PLANTED: as it is");
  });

  test("a secret would have been seen because all of it was handled", ({ places }) => {
    const replies = places.replies.toString();
    for (const name of Object.keys(SECRETS)) expect(replies).toContain(`[secret:${name}]`);
    const codes = ["HTTP_STATUS", "REDIRECT", "CONNECTION", "DNS", "BLOCKED_ADDRESS", "SECRET_NOT_FOUND", "TEMPLATE_INVALID"];
    for (const code of codes) expect(replies).toContain(`"code":"${code}"`);
    expect(places.logs.toString()).toContain('"level":20');
    expect(places.reports.toString().match(/"event": /g)).toHaveLength(4);
    expect(places.reports.toString()).toContain("Thrown from without.");
  });
});
