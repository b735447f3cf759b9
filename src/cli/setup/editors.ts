// What each editor's own configuration for an ACP agent looks like, and where it is.
import { posix, win32 } from "node:path";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { AgentCommand } from "./program.js";
import { agentShellElisp, avanteLua, codeCompanionLua } from "./snippets.js";

export const EDITORS = ["zed", "jetbrains", "neovim", "emacs", "vscode"] as const;
export type EditorName = (typeof EDITORS)[number];

/** An entry in a JSON file with comments: it can be written. */
export interface FileRecipe {
  readonly kind: "file";
  readonly title: string;
  /** Undefined where no home is known. */
  readonly file: string | undefined;
  /** Where the entry stands. */
  readonly path: readonly string[];
  readonly entry: JsonObject;
  readonly next: string;
}

/** Code of a person's own configuration: it can only be shown. */
export interface CodeRecipe {
  readonly kind: "code";
  readonly title: string;
  readonly parts: readonly { readonly about: string; readonly code: string }[];
  readonly next: string;
}

export type Recipe = FileRecipe | CodeRecipe;

/** What people see in their editor. */
const NAME = "Tenon";

export function recipeFor(editor: EditorName, agent: AgentCommand, world: World): Recipe {
  const { command, args } = agent;
  switch (editor) {
    case "zed":
      return {
        kind: "file",
        title: "Zed",
        file: under(world, { linux: [".config", "zed"], darwin: [".config", "zed"], win32: ["Zed"] }, "settings.json"),
        path: ["agent_servers", NAME],
        // `type` tells a command of one's own from an agent of the registry.
        entry: { type: "custom", command, args, env: {} },
        next: "In Zed: open the agent panel and choose Tenon in the menu for a new thread.",
      };
    case "jetbrains":
      return {
        kind: "file",
        title: "JetBrains IDEs",
        file: home(world, [".jetbrains", "acp.json"]),
        path: ["agent_servers", NAME],
        entry: { command, args, env: {} },
        next: "In the IDE: open AI Chat and choose Tenon in the list of agents.",
      };
    case "vscode":
      return {
        kind: "file",
        title: "VS Code with the extension ACP Client (formulahendry.acp-client)",
        file: under(
          world,
          {
            linux: [".config", "Code", "User"],
            darwin: ["Library", "Application Support", "Code", "User"],
            win32: ["Code", "User"],
          },
          "settings.json",
        ),
        path: ["acp.agents", NAME],
        entry: { command, args, env: {} },
        next: "In VS Code: install the extension ACP Client, open its panel and connect to Tenon.",
      };
    case "neovim":
      return {
        kind: "code",
        title: "Neovim",
        parts: [
          { about: "With CodeCompanion.nvim, in your setup of it:", code: codeCompanionLua(agent) },
          { about: "Or with avante.nvim:", code: avanteLua(agent) },
        ],
        next: "In Neovim: :CodeCompanionChat adapter=tenon, or :AvanteChat.",
      };
    case "emacs":
      return {
        kind: "code",
        title: "Emacs",
        parts: [{ about: "With agent-shell, in your init file:", code: agentShellElisp(agent) }],
        next: "In Emacs: M-x agent-shell, then choose Tenon.",
      };
  }
}

type Folders = Readonly<Record<"linux" | "darwin" | "win32", readonly string[]>>;

/** In the home; on Linux what stands in .config follows XDG_CONFIG_HOME, on Windows all of it is in APPDATA. */
function under(world: World, folders: Folders, name: string): string | undefined {
  const { env, platform } = world;
  if (platform === "win32") {
    const roaming = env["APPDATA"];
    return roaming === undefined ? undefined : win32.join(roaming, ...folders.win32, name);
  }
  if (platform === "darwin") return home(world, [...folders.darwin, name]);
  const [, ...rest] = folders.linux;
  const config = env["XDG_CONFIG_HOME"];
  return config !== undefined && posix.isAbsolute(config)
    ? posix.join(config, ...rest, name)
    : home(world, [...folders.linux, name]);
}

function home({ env, platform }: World, parts: readonly string[]): string | undefined {
  const paths = platform === "win32" ? win32 : posix;
  const folder = env["HOME"] ?? env["USERPROFILE"];
  return folder === undefined || !paths.isAbsolute(folder) ? undefined : paths.join(folder, ...parts);
}
