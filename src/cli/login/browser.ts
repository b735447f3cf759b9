// Opens a web page in the person's browser: never through a shell, never anything but a web page.
import { spawn } from "node:child_process";
import { messageOf } from "../../base/errors.js";
import { webPage } from "../../session/index.js";

interface Opener {
  readonly command: string;
  readonly args: readonly string[];
}

/** Each takes the address as one word and hands it on without reading anything else into it. */
export function openerFor(platform: NodeJS.Platform, address: string): Opener {
  if (platform === "darwin") return { command: "open", args: [address] };
  if (platform === "win32") return { command: "rundll32.exe", args: ["url.dll,FileProtocolHandler", address] };
  return { command: "xdg-open", args: [address] };
}

/**
 * Resolves once the opener has been started, with why not where it could not be. It may become the browser itself, so it
 * outlives this process and hears nothing of its end.
 */
export async function openBrowser(
  url: URL,
  { platform, env }: { readonly platform: NodeJS.Platform; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<string | undefined> {
  const page = webPage(url);
  if (!page) return "it is no web page";
  const { command, args } = openerFor(platform, page.href);
  // What changes how Node runs is ours, not the browser's.
  const { NODE_OPTIONS: _ours, ...rest } = env;
  return await new Promise((resolve) => {
    try {
      const child = spawn(command, args, { env: rest, stdio: "ignore", detached: true, shell: false });
      child.on("error", (error) => resolve(error.message));
      child.once("spawn", () => resolve(undefined));
      child.unref();
    } catch (error) {
      resolve(messageOf(error)); // no process left to start it in
    }
  });
}
