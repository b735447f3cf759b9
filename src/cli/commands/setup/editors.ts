// What each editor's own configuration for an ACP agent looks like, and where it is.
import { posix, win32 } from "node:path";
import type { JsonObject } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import { PROVIDER_VARIABLES } from "../../provider-variables.js";

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
  /** Whether the editor's own MCP servers come along. */
  readonly servers: string;
  readonly next: string;
}

/** Code of a person's own configuration: it can only be shown. */
export interface CodeRecipe {
  readonly kind: "code";
  readonly title: string;
  /** `servers`: whether its own MCP servers come along. */
  readonly parts: readonly { readonly about: string; readonly code: string; readonly servers: string }[];
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
        file: under(world, ZED, "settings.json"),
        path: ["agent_servers", NAME],
        // `type` tells a command of one's own from an agent of the registry.
        entry: { type: "custom", command, args, env: {} },
        servers: "The MCP servers of Zed (context_servers) come along.",
        next: "In Zed: open the agent panel and choose Tenon in the menu for a new thread.",
      };
    case "jetbrains":
      return {
        kind: "file",
        title: "JetBrains IDEs",
        file: home(world, [".jetbrains", "acp.json"]),
        path: ["agent_servers", NAME],
        entry: { command, args, env: {} },
        servers:
          'The MCP servers of the IDE come along where "Pass custom MCP servers" is on in its settings of agents, or "use_custom_mcp": true stands in this entry.',
        next: "In the IDE: open AI Chat and choose Tenon in the list of agents.",
      };
    case "vscode":
      return {
        kind: "file",
        title: "VS Code with the extension ACP Client (formulahendry.acp-client)",
        file: under(world, VSCODE, "settings.json"),
        path: ["acp.agents", NAME],
        entry: { command, args, env: {} },
        servers: "The extension passes on no MCP servers: tenon mcp import --from vscode copies those of VS Code.",
        next: "In VS Code: install the extension ACP Client, open its panel and connect to Tenon.",
      };
    case "neovim":
      return {
        kind: "code",
        title: "Neovim",
        parts: [
          {
            about: "With CodeCompanion.nvim, in your setup of it:",
            code: codeCompanionLua(agent),
            servers: "The MCP servers of CodeCompanion come along.",
          },
          {
            about:
              "Or with avante.nvim. By default it approves everything that Tenon asks about without showing it to you; auto_approve_tool_permissions = false changes that:",
            code: avanteLua(agent),
            servers:
              "avante passes on only the MCP servers in mcp_servers of this entry; tenon mcp add and tenon mcp import give Tenon its own.",
          },
        ],
        next: "In Neovim: :CodeCompanionChat adapter=tenon, or :AvanteChat.",
      };
    case "emacs":
      return {
        kind: "code",
        title: "Emacs",
        parts: [
          {
            about: "With agent-shell, in your init file:",
            code: agentShellElisp(agent),
            servers: "The MCP servers in agent-shell-mcp-servers come along.",
          },
        ],
        next: "In Emacs: M-x agent-shell, then choose Tenon.",
      };
  }
}

type Folders = Readonly<Record<"linux" | "darwin" | "win32", readonly string[]>>;

const ZED: Folders = { linux: [".config", "zed"], darwin: [".config", "zed"], win32: ["Zed"] };
const VSCODE: Folders = {
  linux: [".config", "Code", "User"],
  darwin: ["Library", "Application Support", "Code", "User"],
  win32: ["Code", "User"],
};

/** In the home; on Linux what stands in .config follows XDG_CONFIG_HOME, on Windows all of it is in APPDATA. */
function under(world: World, folders: Folders, name: string): string | undefined {
  const { env, platform } = world;
  const roaming = env["APPDATA"];
  if (platform === "win32") return roaming === undefined ? undefined : win32.join(roaming, ...folders.win32, name);
  if (platform === "darwin") return home(world, [...folders.darwin, name]);
  const config = env["XDG_CONFIG_HOME"];
  if (config === undefined || !posix.isAbsolute(config)) return home(world, [...folders.linux, name]);
  return posix.join(config, ...folders.linux.slice(1), name);
}

function home({ env, platform }: World, parts: readonly string[]): string | undefined {
  const paths = platform === "win32" ? win32 : posix;
  const folder = env["HOME"] ?? env["USERPROFILE"];
  return folder === undefined || !paths.isAbsolute(folder) ? undefined : paths.join(folder, ...parts);
}

// How an editor is to start Tenon: by its name where that leads here, else by its full path.

export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** In the PATH of every program of the desktop. */
const SYSTEM_FOLDERS: readonly string[] = ["/usr/bin", "/bin", "/usr/local/bin"];

export async function agentCommand({ env, platform, files }: World): Promise<AgentCommand> {
  const realPath = async (path: string) => (await files.find(path).catch(() => undefined))?.realPath ?? path;
  const own = await realPath(process.argv[1] ?? "");
  const paths = platform === "win32" ? win32 : posix;
  for (const folder of (env["PATH"] ?? "").split(paths.delimiter)) {
    const file = paths.join(folder, platform === "win32" ? "tenon.cmd" : "tenon");
    const isOwn = paths.isAbsolute(folder) && files.isFile(file) && (await realPath(file)) === own;
    if (isOwn && SYSTEM_FOLDERS.includes(folder)) return { command: "tenon", args: ["acp"] };
    // Editors that were not started from a shell do not have folders of nvm, volta or npm in their PATH.
    if (isOwn) return { command: process.execPath, args: [file, "acp"] };
  }
  return { command: process.execPath, args: [own, "acp"] };
}

// Code for editors that are configured by code: Lua for Neovim's plugins, Lisp for Emacs.

/** An adapter of one's own, in the form of those that come with the plugin (olimorris/codecompanion.nvim). */
function codeCompanionLua({ command, args }: AgentCommand): string {
  return `require("codecompanion").setup({
  adapters = {
    acp = {
      tenon = function()
        local helpers = require("codecompanion.adapters.acp.helpers")
        return {
          name = "tenon",
          formatted_name = "Tenon",
          type = "acp",
          roles = { llm = "assistant", user = "user" },
          opts = { vision = true },
          commands = { default = { ${[command, ...args].map(quoted).join(", ")} } },
          defaults = { mcpServers = "inherit_from_config", timeout = 20000 },
          parameters = {
            protocolVersion = 1,
            clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
            clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
          },
          handlers = {
            setup = function() return true end,
            form_messages = function(self, messages, capabilities)
              return helpers.form_messages(self, messages, capabilities)
            end,
            on_exit = function() end,
          },
        }
      end,
    },
  },
  interactions = { chat = { adapter = "tenon" } },
})`;
}

/** What Tenon reads from its environment, the keyring's bus and proxies included. */
const AGENT_VARIABLES = [
  ...["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"],
  ...["TENON_HOME", "DBUS_SESSION_BUS_ADDRESS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"],
  ...PROVIDER_VARIABLES,
];

/** `acp_providers` of yetone/avante.nvim, which gives an agent PATH and what stands in `env`, nothing else. */
function avanteLua({ command, args }: AgentCommand): string {
  const variables = AGENT_VARIABLES.map((name) => `        ${name} = os.getenv("${name}"),`);
  return `require("avante").setup({
  provider = "tenon",
  behaviour = { auto_approve_tool_permissions = false },
  acp_providers = {
    ["tenon"] = {
      command = ${quoted(command)},
      args = { ${args.map(quoted).join(", ")} },
      env = {
${variables.join("\n")}
      },
    },
  },
})`;
}

/** `agent-shell-make-agent-config` of xenodium/agent-shell, with a client of acp.el. */
function agentShellElisp({ command, args }: AgentCommand): string {
  return `(with-eval-after-load 'agent-shell
  (add-to-list
   'agent-shell-agent-configs
   (agent-shell-make-agent-config
    :identifier 'tenon
    :mode-line-name "Tenon"
    :buffer-name "Tenon"
    :shell-prompt "Tenon> "
    :shell-prompt-regexp "Tenon> "
    :client-maker (lambda (buffer)
                    (acp-make-client :command ${quoted(command)}
                                     :command-params '(${args.map(quoted).join(" ")})
                                     :context-buffer buffer)))))`;
}

/** A text as both Lua and Lisp write it. */
function quoted(text: string): string {
  return `"${text.replaceAll(/[\\"]/gu, (sign) => `\\${sign}`)}"`;
}
