// Starting commands on Windows: `npx` is really `npx.cmd`, which only a command interpreter can run, with quoting of its own.
import { win32 } from "node:path";
import type { SpawnRequest } from "../../../base/ports/world.js";

const DEFAULT_EXTENSIONS = ".COM;.EXE;.BAT;.CMD";

/** The request as Windows can run it. What is not found is left as it is: the system's own error says so. */
export function viaShim(request: SpawnRequest, isFile: (path: string) => boolean): SpawnRequest {
  const file = findCommand(request, isFile);
  switch (win32.extname(file ?? request.command).toLowerCase()) {
    case ".cmd":
    case ".bat":
      return viaInterpreter(request, file ?? request.command);
    case ".ps1": {
      const options = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"];
      return { ...request, command: "powershell.exe", args: [...options, file ?? request.command, ...request.args] };
    }
    default:
      return file === undefined ? request : { ...request, command: file };
  }
}

/** As the system itself looks: the folders of PATH for a bare name, and the known extensions for one without any. */
export function findCommand(request: SpawnRequest, isFile: (path: string) => boolean): string | undefined {
  const { command } = request;
  const folders = /[/\\]/.test(command)
    ? [""]
    : (variable(request, "PATH") ?? "").split(";").filter((part) => part !== "");
  const known = (variable(request, "PATHEXT") ?? DEFAULT_EXTENSIONS).split(";").filter((part) => part !== "");
  const endings = win32.extname(command) === "" ? known : ["", ...known];
  for (const folder of folders) {
    const base = folder === "" ? command : win32.join(folder.replace(/^"(.*)"$/, "$1"), command);
    const found = endings.map((ending) => base + ending.toLowerCase()).find((path) => isFile(path));
    if (found !== undefined) return found;
  }
  return undefined;
}

function variable(request: SpawnRequest, name: string): string | undefined {
  return Object.entries(request.env).find(([given]) => given.toUpperCase() === name)?.[1];
}

function viaInterpreter(request: SpawnRequest, file: string): SpawnRequest {
  // Shims of npm hand their arguments on to a second interpreter, which takes one layer of quoting off again.
  const isDouble = /node_modules[\\/]\.bin[\\/][^\\/]+\.cmd$/i.test(file);
  const words = [escapeMeta(win32.normalize(file)), ...request.args.map((word) => quoteForCmd(word, isDouble))];
  return {
    ...request,
    command: variable(request, "COMSPEC") ?? "cmd.exe",
    args: ["/d", "/s", "/c", `"${words.join(" ")}"`],
    isVerbatim: true,
  };
}

/**
 * One argument, so that the program gets exactly it: quoted as the C runtime reads it (backslashes count only before a
 * quote), then every character `cmd.exe` would act upon is escaped with a caret, also inside the quotes.
 */
export function quoteForCmd(word: string, isDouble: boolean): string {
  const quoted = `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1")}"`;
  const escaped = escapeMeta(quoted);
  return isDouble ? escapeMeta(escaped) : escaped;
}

function escapeMeta(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}
