import { expect, test, vi } from "vitest";
import { drawMarks } from "../../src/ui/chart/marks.ts";

test("the texts of marks stand beside their lines, on the left before the right edge, and never over another text", () => {
  vi.stubGlobal("devicePixelRatio", 1);
  const drawn: [string, number][] = [];
  const ctx = {
    textAlign: "right",
    ...Object.fromEntries(["save", "restore", "setLineDash", "beginPath", "moveTo", "lineTo", "stroke"].map((name) => [name, () => {}])),
    measureText: (text: string) => ({ width: text.length * 10 }),
    fillText: (text: string, left: number) => drawn.push([text, left]),
  };
  const plot = { ctx, bbox: { left: 0, top: 0, width: 1000, height: 100 }, valToPos: (seconds: number) => seconds };
  const at = (x: number, text: string) => ({ atMs: x * 1000, text });
  drawMarks(plot as never, [at(100, "early"), at(150, "hidden"), at(600, "middle"), at(990, "at the edge")], () => "");
  expect(drawn).toEqual([
    ["early", 103],
    ["middle", 603],
    ["at the edge", 877],
  ]);
  expect(ctx.textAlign).toBe("left");
  vi.unstubAllGlobals();
});
