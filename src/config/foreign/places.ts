// Where other clients keep their servers, on each system. Pure: whether a file is there is for whoever reads it.
import { posix, win32 } from "node:path";
import type { ImportName } from "../entry.js";

export interface MachinePlace {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The project. */
  readonly cwd: string;
}

/** Files of one client, the weaker first. */
export interface ForeignPlaces {
  /** In the person's home: their own. Empty when no home is known. */
  readonly user: readonly string[];
  /** In the project: whoever wrote the project wrote them. */
  readonly project: readonly string[];
}

interface Folders {
  readonly join: (...parts: string[]) => string;
  readonly home: string;
  /** Where desktop programs keep their settings. */
  readonly programs: string;
  /** `~/.config`, which some command-line programs use on every system. */
  readonly config: string;
  readonly project: string;
  /** A folder that a variable moves, if it holds a full path. */
  readonly moved: (variable: string) => string | undefined;
}

const PLACES: Readonly<Record<ImportName, (folders: Folders) => ForeignPlaces>> = {
  "claude-desktop": ({ join, programs }) => ({
    user: [join(programs, "Claude", "claude_desktop_config.json")],
    project: [],
  }),
  // A project's `.mcp.json` is a layer of its own, whether it is imported or not.
  "claude-code": ({ join, home, moved }) => ({
    user: [join(moved("CLAUDE_CONFIG_DIR") ?? home, ".claude.json")],
    project: [],
  }),
  cursor: ({ join, home, project }) => ({
    user: [join(home, ".cursor", "mcp.json")],
    project: [join(project, ".cursor", "mcp.json")],
  }),
  vscode: ({ join, programs, project }) => ({
    user: [join(programs, "Code - Insiders", "User", "mcp.json"), join(programs, "Code", "User", "mcp.json")],
    project: [join(project, ".vscode", "mcp.json")],
  }),
  zed: ({ join, programs, config, project }) => ({
    user: [join(isWindowsPath(programs) ? join(programs, "Zed") : join(config, "zed"), "settings.json")],
    project: [join(project, ".zed", "settings.json")],
  }),
  windsurf: ({ join, home }) => ({ user: [join(home, ".codeium", "windsurf", "mcp_config.json")], project: [] }),
  codex: ({ join, home, project, moved }) => ({
    user: [join(moved("CODEX_HOME") ?? join(home, ".codex"), "config.toml")],
    project: [join(project, ".codex", "config.toml")],
  }),
  opencode: ({ join, config, project }) => ({
    user: ["opencode.json", "opencode.jsonc"].map((name) => join(config, "opencode", name)),
    project: ["opencode.json", "opencode.jsonc"].map((name) => join(project, name)),
  }),
  magenta: ({ join, home, project }) => ({
    user: [join(home, ".magenta", "options.json")],
    project: [join(project, ".magenta", "options.json")],
  }),
};

export function foreignPlaces(client: ImportName, machine: MachinePlace): ForeignPlaces {
  const { platform, env, cwd } = machine;
  const paths = platform === "win32" ? win32 : posix;
  const full = (variable: string): string | undefined => {
    const value = env[variable];
    return value && paths.isAbsolute(value) ? value : undefined; // relative: it would lead into the project
  };
  const home = (platform === "win32" ? full("USERPROFILE") : undefined) ?? full("HOME") ?? full("USERPROFILE");
  const folders: Folders = {
    join: (...parts) => paths.join(...parts),
    home: home ?? "",
    programs: programsFolder(platform, home ?? "", full),
    config: full("XDG_CONFIG_HOME") ?? paths.join(home ?? "", ".config"),
    project: cwd,
    moved: full,
  };
  const { user, project } = PLACES[client](folders);
  return { user: user.filter((path) => paths.isAbsolute(path)), project };
}

function programsFolder(
  platform: NodeJS.Platform,
  home: string,
  full: (variable: string) => string | undefined,
): string {
  if (platform === "win32") return full("APPDATA") ?? win32.join(home, "AppData", "Roaming");
  if (platform === "darwin") return posix.join(home, "Library", "Application Support");
  return full("XDG_CONFIG_HOME") ?? posix.join(home, ".config");
}

function isWindowsPath(path: string): boolean {
  return path.includes("\\");
}
