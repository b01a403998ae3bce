import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Stands in index.html where the node writes a nonce for each response (`packages/server/src/dashboard`). */
const NONCE_PLACEHOLDER = "TIDEMILL_NONCE";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Relative, so that the pages work under any path that a proxy gives them.
  base: "./",
  clearScreen: false,
  logLevel: "warn",
  publicDir: false,
  plugins: [react()],
  html: { cspNonce: NONCE_PLACEHOLDER },
  build: {
    target: "es2023",
    // A data: URL in CSS or JavaScript would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    // Which files belong to the first load. Tests read it.
    manifest: true,
  },
});
