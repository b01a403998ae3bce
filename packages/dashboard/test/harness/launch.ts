import path from "node:path";
import { type Browser, chromium } from "playwright-core";

/** Starts the browser that `chromium.ts` has unpacked into a directory. */
export async function launchChromium(directory: string): Promise<Browser> {
  const start = (libraries: string[]) =>
    chromium.launch({
      executablePath: path.join(directory, "chromium"),
      // Containers have no user namespaces to make a sandbox of, and root may not use one.
      chromiumSandbox: false,
      args: ["--font-render-hinting=none", "--disable-webgl", "--force-color-profile=srgb"],
      env: {
        ...(process.env as Record<string, string>),
        FONTCONFIG_FILE: path.join(directory, "fonts.conf"),
        ...(libraries.length > 0 && { LD_LIBRARY_PATH: libraries.join(":") }),
      },
    });
  try {
    return await start([]);
  } catch {
    // A machine without the libraries that browsers need: the package has them, too.
    return start([path.join(directory, "al2023/lib"), ...(process.env.LD_LIBRARY_PATH?.split(":") ?? [])]);
  }
}
