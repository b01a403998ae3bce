import { parseTemplates, TemplateError } from "@tidemill/contract";
import { describe, expect, test } from "vitest";

describe("parseTemplates", () => {
  test.for([
    ["plain", ["plain"]],
    ["", [""]],
    ["${{ secrets.A }}", [{ secret: "A" }]],
    ["${{secrets.A_1}}", [{ secret: "A_1" }]],
    ["${{\t secrets.TOKEN\n}}", [{ secret: "TOKEN" }]],
    ["Bearer ${{ secrets.A }}!", ["Bearer ", { secret: "A" }, "!"]],
    ["${{ secrets.A }}${{ secrets.B }}", [{ secret: "A" }, { secret: "B" }]],
    ["${{ secrets.A }}}", [{ secret: "A" }, "}"]],
    ["$${{ secrets.A }}", ["$", { secret: "A" }]],
    ["${ secrets.A }", ["${ secrets.A }"]],
    ["{{ secrets.A }}", ["{{ secrets.A }}"]],
    ["$ {{ secrets.A }}", ["$ {{ secrets.A }}"]],
    ["}} ${", ["}} ${"]],
  ] as const)("parseTemplates reads %j", ([text, parts]) => {
    expect(parseTemplates(text)).toEqual(parts);
  });

  test.for([
    ["${{", "without }}"],
    ["${{ secrets.A", "without }}"],
    ["${{ secrets.A }", "without }}"],
    ["${{ secrets.A } }", "without }}"],
    ["${{}}", "names no secret"],
    ["${{ secrets }}", "names no secret"],
    ["${{ secrets. }}", "names no secret"],
    ["${{ secrets.a }}", "names no secret"],
    ["${{ secrets.1A }}", "names no secret"],
    ["${{ secrets.A-B }}", "names no secret"],
    ["${{ secrets.A.B }}", "names no secret"],
    ["${{ secrets . A }}", "names no secret"],
    ["${{ secrets.A }} ${{ secrets.A || 'x' }}", "names no secret"],
    [`\${{ secrets.${"A".repeat(129)} }}`, "names no secret"],
    ["${{ Secrets.A }}", 'namespace "Secrets"'],
    ["${{ env.HOME }}", 'namespace "env"'],
    ["${{ ${{ secrets.A }} }}", "names no secret"],
  ])("parseTemplates refuses %s", ([text = "", message = ""]) => {
    expect(() => parseTemplates(text)).toThrow(TemplateError);
    expect(() => parseTemplates(text)).toThrow(message);
  });
});
