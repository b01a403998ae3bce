// Scripts for a page of the dashboard, as texts: the types of browsers are not those of this folder.

const NEXT_FRAME = "new Promise(requestAnimationFrame)";

/** Keeps the longest task. Browsers report those that take more than 50 ms. */
export const WATCH_TASKS = {
  content: `
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
    }).observe({ type: "longtask" });`,
};

export const FORGET_TASKS = "globalThis.longest = 0";

export const LAST_ROW = "Math.max(-1, ...[...document.querySelectorAll('[data-row]')].map(({ dataset }) => Number(dataset.row)))";

/** The time since the navigation began, when the next key would be heard. Milliseconds. */
export const NOW_IDLE = `${NEXT_FRAME}.then(() => new Promise((resolve) => setTimeout(() => resolve(performance.now()))))`;

export const TO_END = `window.scrollTo(0, document.documentElement.scrollHeight); ${NEXT_FRAME}.then(() => ${NEXT_FRAME})`;

/** From the beginning, turns the wheel for 300 frames, and jumps to 50 places all over the document. The longest task that there has been. */
export const SCROLL = `(async () => {
  window.scrollTo(0, 0);
  for (let frame = 0; frame < 300; frame += 1) {
    window.scrollBy(0, 2400);
    await ${NEXT_FRAME};
  }
  for (let jump = 0; jump < 50; jump += 1) {
    window.scrollTo(0, (document.documentElement.scrollHeight * ((jump * 37) % 50)) / 50);
    await ${NEXT_FRAME};
    await ${NEXT_FRAME};
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  return globalThis.longest;
})()`;
