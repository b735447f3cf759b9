// Where other clients keep their files, on the three systems.
import { describe, expect, it } from "vitest";
import { IMPORT_NAMES } from "../layers/entry.js";
import { foreignPlaces, type MachinePlace } from "./clients.js";

const LINUX: MachinePlace = { platform: "linux", env: { HOME: "/home/me" }, cwd: "/project" };
const MAC: MachinePlace = { platform: "darwin", env: { HOME: "/Users/me" }, cwd: "/project" };
const WINDOWS: MachinePlace = {
  platform: "win32",
  env: { USERPROFILE: "C:\\Users\\me", APPDATA: "C:\\Users\\me\\AppData\\Roaming" },
  cwd: "D:\\project",
};

function users(machine: MachinePlace): Record<string, readonly string[]> {
  return Object.fromEntries(IMPORT_NAMES.map((name) => [name, foreignPlaces(name, machine).user]));
}

describe("the files of other clients", () => {
  it("lie in the home on Linux", () => {
    expect(users(LINUX)).toEqual({
      "claude-desktop": ["/home/me/.config/Claude/claude_desktop_config.json"],
      "claude-code": ["/home/me/.claude.json"],
      cursor: ["/home/me/.cursor/mcp.json"],
      vscode: ["/home/me/.config/Code - Insiders/User/mcp.json", "/home/me/.config/Code/User/mcp.json"],
      zed: ["/home/me/.config/zed/settings.json"],
      windsurf: ["/home/me/.codeium/windsurf/mcp_config.json"],
      codex: ["/home/me/.codex/config.toml"],
      opencode: ["/home/me/.config/opencode/opencode.json", "/home/me/.config/opencode/opencode.jsonc"],
      magenta: ["/home/me/.magenta/options.json"],
      "gemini-cli": ["/home/me/.gemini/settings.json"],
      cline: ["/home/me/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
      junie: ["/home/me/.junie/mcp/mcp.json"],
      goose: ["/home/me/.config/goose/config.yaml"],
    });
  });

  it("lie with the programs' settings on macOS and Windows", () => {
    expect(users(MAC)).toMatchObject({
      "claude-desktop": ["/Users/me/Library/Application Support/Claude/claude_desktop_config.json"],
      vscode: expect.arrayContaining(["/Users/me/Library/Application Support/Code/User/mcp.json"]),
      zed: ["/Users/me/.config/zed/settings.json"],
    });
    expect(users(WINDOWS)).toMatchObject({
      "claude-desktop": ["C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json"],
      "claude-code": ["C:\\Users\\me\\.claude.json"],
      zed: ["C:\\Users\\me\\AppData\\Roaming\\Zed\\settings.json"],
      windsurf: ["C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json"],
    });
  });

  it("are moved by the variables that move them, if those are full paths", () => {
    const env = { HOME: "/home/me", CODEX_HOME: "/opt/codex", CLAUDE_CONFIG_DIR: "here", XDG_CONFIG_HOME: "/xdg" };
    expect(users({ ...LINUX, env })).toMatchObject({
      codex: ["/opt/codex/config.toml"],
      "claude-code": ["/home/me/.claude.json"],
      zed: ["/xdg/zed/settings.json"],
    });
  });

  it("of a project are the project's, and without a home there are no others", () => {
    const places = IMPORT_NAMES.map((name) => foreignPlaces(name, { ...LINUX, env: {} }));
    expect(places.flatMap(({ user }) => user)).toEqual([]);
    expect(places.flatMap(({ project }) => project)).toEqual([
      "/project/.cursor/mcp.json",
      "/project/.vscode/mcp.json",
      "/project/.zed/settings.json",
      "/project/.codex/config.toml",
      "/project/opencode.json",
      "/project/opencode.jsonc",
      "/project/.magenta/options.json",
      "/project/.gemini/settings.json",
      "/project/.junie/mcp/mcp.json",
    ]);
  });
});
