/**
 * uPlot asks Intl for the browser's language when it is loaded, and fails where Intl does not know it: Chromium has `en-US@posix` where
 * LANG is C. To be imported before it.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en", configurable: true });
}
