// A line for the shell, as the machine's own shell takes it.
import type { World } from "../../base/ports/world.js";
import type { CommandRequest } from "../ports.js";

/** Bash where it is, since models write for it; the shell every system has otherwise. No profile is read. */
export function shellRequest(world: World, line: string): Pick<CommandRequest, "command" | "args" | "isVerbatim"> {
  if (world.platform === "win32") {
    return { command: world.env["COMSPEC"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], isVerbatim: true };
  }
  const bash = ["/bin/bash", "/usr/bin/bash"].find((path) => world.files.isFile(path));
  return { command: bash ?? "/bin/sh", args: ["-c", line] };
}
